function s = imread_size (file)
  % Width and height of a PNG; an error if it is none
  f = fopen (file, 'r');
  head = fread (f, 24, 'uint8')';
  fclose (f);
  if numel (head) < 24 || ~isequal (head(1:8), [137 80 78 71 13 10 26 10]), error ('%s is no PNG', file); end
  s = [256 .^ (3:-1:0) * head(17:20)', 256 .^ (3:-1:0) * head(21:24)'];
end
