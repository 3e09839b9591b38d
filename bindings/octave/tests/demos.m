% demos.m - every demo draws something: a PNG each, in the folder of the environment's KRY_PLOTS
if isempty (available_graphics_toolkits ())
  fprintf ('ok - demos # SKIP Octave has no graphics toolkit: gnuplot-nox has one that needs no display\n');
  return;
end
warning ('off', 'all'); % gnuplot is discouraged, but draws without a display
graphics_toolkit ('gnuplot');
for name = {'kry_spy', 'kry_plot_convergence', 'kry_pcg'}
  [code, at] = test (name{1}, 'grabdemo');
  for k = 1:numel (at) - 1
    file = fullfile (getenv ('KRY_PLOTS'), sprintf ('%s_%d.png', name{1}, k));
    what = sprintf ('demo %s %d', name{1}, k);
    try
      f = figure ('visible', 'off');
      eval (code(at(k):at(k+1)-1));
      print (f, file, '-dpng');
      close (f);
      picture = imread_size (file);
      tap (all (picture >= 200), what, sprintf ('(PNG %dx%d)', picture));
    catch err
      if isempty (regexp (err.message, 'ghostscript|gnuplot|font|text_renderer|graphics'))
        fprintf ('# %s\n', err.message);
        tap (false, what);
      else
        fprintf (['ok - %s # SKIP needs gnuplot-nox, ghostscript and fonts-freefont-otf: %s\n'], what, ...
                 strtok (err.message, "\n"));
      end
    end
  end
end
