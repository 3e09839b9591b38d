"""test_html.py KRY [--browser] - pages that kry writes with --html.

Without --browser: their structure, by a parser; that their numbers are those of --json; that whatever stands in a
file's name is text; their size; where they cannot be written. With it, in headless Chromium: no error on the console,
the script's work, light and dark, printing; skipped where there is no Chromium. Speaks TAP.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

KRY = sys.argv[1]
FULL = bool(os.environ.get("KRY_FULL"))
os.environ.setdefault("KRY_DEVICE", "opencl")  # which has times of kernels
if not FULL:  # PoCL compiles in a third of the time
    os.environ.setdefault("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    if "KRY_TEST_BUILTINS" in os.environ:  # hooks.c does the same
        os.environ["POCL_EXTRA_BUILD_FLAGS"] += f" -DKRY_TESTING\t-include\t{os.environ['KRY_TEST_BUILTINS']}"
VOID = {"meta", "br", "link", "img", "input", "hr"}
MOST = 300_000  # bytes of a page


class Page(html.parser.HTMLParser):
    """What is in a page; raises AssertionError where it is not well-formed."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path, self.bytes = path, path.read_bytes()
        self.source = self.bytes.decode("utf-8")  # which it is to be
        self.open, self.ids, self.data, self.facts, self.rows, self.pictures = [], set(), {}, {}, [], []
        self.text, self.cell, self.headings, self.captions, self.tags = "", None, [], 0, set()
        self.feed(self.source)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        assert len(a) == len(attributes), f"<{tag}> has an attribute twice"
        self.tags.add(tag)
        for name in ("src", "href", "action", "xmlns", "onload", "onclick"):
            assert name not in a, f"<{tag} {name}>"
        if "id" in a:
            assert a["id"] not in self.ids, f"id {a['id']} twice"
            self.ids.add(a["id"])
        if tag == "svg" and "svg" not in [t for t, _ in self.open] and a.get("aria-hidden") != "true":
            assert a.get("role") == "img" and len(a.get("aria-label", "")) > 8, f"a picture without words: {a}"
            self.pictures.append(a)
        for name in ("d", "x", "y", "width", "height", "viewbox", "x1", "y1", "data-x", "data-y"):
            assert not re.search("nan|inf", a.get(name, ""), re.I), f"<{tag} {name}='{a[name][:60]}'>"
        if tag == "tr":
            self.rows.append([])
        self.captions += tag in ("caption", "summary")
        self.text = ""
        if tag not in VOID:
            self.open.append((tag, a))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> in {[t for t, _ in self.open]}"
        _, a = self.open.pop()
        if tag in ("th", "td"):
            self.rows[-1].append(self.text)
        if tag == "th":
            assert a.get("scope") in ("row", "col"), "a heading of what?"
        if tag == "tr" and len(self.rows[-1]) == 2:
            self.facts.setdefault(*self.rows[-1])
        if tag == "script" and a.get("type") == "application/json":
            self.data.setdefault(a.get("id", "pictures"), []).append(json.loads(self.text))
        if tag in ("h1", "h2", "h3"):
            self.headings.append(self.text)

    def handle_data(self, data):
        self.text += data

    def check(self, least_pictures):
        assert self.source.startswith("<!doctype html>"), "no doctype"
        assert "http://" not in self.source and "https://" not in self.source, "an address"
        assert "@import" not in self.source and "url(" not in self.source, "something to fetch"
        assert len(self.bytes) < MOST, f"{len(self.bytes)} bytes"
        assert len(self.pictures) >= least_pictures, f"{len(self.pictures)} pictures"
        assert self.tags >= {"main", "h1", "style", "script"}, self.tags
        assert self.captions or not self.rows, "tables without captions"
        return self


def run(*words, status=0, **more):
    """kry with these words; --device host needs no compiler."""
    done = subprocess.run([KRY, *words], capture_output=True, timeout=600, **more)
    assert done.returncode == status, f"kry {words}: {done.returncode}, not {status}: {done.stderr.decode()}"
    return done


def solve(folder, *words, status=0, name="page.html"):
    """The page of a solve, and the object that --json printed of it."""
    page = pathlib.Path(folder, name)
    done = run("solve", *words, "--json", "--html", os.fsencode(page), status=status)
    return Page(page), json.loads(done.stdout)


# ---- structure -----------------------------------------------------------------------------------


def same_numbers(page, said):
    assert page.data["kry"] == [said], "the page's numbers are not those of --json"
    assert page.facts["iterations"] == str(said["iterations"])
    assert page.facts["true residual"] == f"{said['true_relative_residual']:.3e}"
    assert page.facts["target"] == f"{said['target_relative']:.3e}"
    curve = [s for s in page.data["pictures"][0] if s["name"] == "carried by the recurrence"]
    if curve:
        assert curve[0]["x"] == said["history_iterations"], "other iterations"
        for drawn, exact in zip(curve[0]["y"], said["history"]):
            assert abs(drawn - exact) <= 1e-5 * exact, (drawn, exact)


def history_is_that_of_the_solve(said):
    assert said["history_iterations"][0] == 0 and said["history_iterations"][-1] == said["iterations"]
    assert said["history_iterations"] == sorted(said["history_iterations"])
    assert len(said["history"]) == len(said["history_iterations"]) <= 502
    assert abs(said["history"][-1] - said["relative_residual"]) <= 1e-12 * said["relative_residual"]
    assert said["true_residuals"][-1] == said["true_relative_residual"]
    assert len(said["true_residuals"]) == len(said["true_residual_iterations"]) == said["restarts"] + 2


def grid_on_the_host(folder):
    page, said = solve(folder, "--problem", "poisson2d:40", "--device", "host")
    page.check(2)
    same_numbers(page, said)
    history_is_that_of_the_solve(said)
    assert {"convergence", "time", "operator"} <= page.ids and "matrix" not in page.ids
    assert "converged" in page.source and "seven" not in page.source


def long_history(folder):
    page, said = solve(folder, "--problem", "poisson2d:60", "--device", "host", "--stop", "never", "--maxit", "4000",
                       "--resident", "off")
    page.check(2)
    same_numbers(page, said)
    history_is_that_of_the_solve(said)
    assert 200 < len(said["history"]) <= 502
    assert min(said["history"]) <= said["relative_residual"] and max(said["history"]) >= 1


def a_million_rows(folder):
    page, said = solve(folder, "--problem", "poisson2d:1000", "--device", "host", "--maxit", "12", status=1)
    page.check(2)
    same_numbers(page, said)
    assert said["n"] == 1000000 and "not converged" in page.source


def names_are_text(folder):
    """A file's name with all that HTML, JSON and shells mind, and a byte that is no UTF-8."""
    name = b"a<b>&amp;'\"$x\xff</script>.mtx".replace(b"/", b"_")
    path = os.path.join(os.fsencode(folder), name)
    with open(path, "wb") as f:
        f.write(b"%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 2\n1 2 -1\n2 2 2\n3 3 2\n2 1 -1\n")
    page = pathlib.Path(folder, "page.html")
    done = run("solve", path, "--device", "host", "--json", "--html", page)
    said = json.loads(done.stdout)
    page = Page(page).check(3)
    assert page.data["kry"] == [said]
    shown = "a<b>&amp;'\"$x?<_script>.mtx"  # as the program's own text has it
    assert page.headings[0] == shown, page.headings[0]
    assert page.facts["source"].endswith(shown)
    assert "\ufffd" in page.source and "'\\''" in page.source.replace("&#39;", "'"), "the command is not what was typed"
    assert page.source.count("<script>") == 1 and "a<b>" not in page.source


def matrix_with_levels(folder):
    page, said = solve(folder, "--problem", "poisson2d:32", "--format", "auto", "--precond", "amg")
    page.check(6)
    same_numbers(page, said)
    assert {"kernels", "matrix", "levels", "run", "solve-begin"} <= page.ids, page.ids
    rows = {r[0]: r for r in page.rows if r}
    assert rows["0"][1] == "1 024" and rows["0"][4] == said["format"]
    assert rows[said["format"]][3] == "taken"
    assert all(f in rows for f in ("csr", "dia", "symdia", "ell", "sell", "jds", "hyb", "coo"))
    spans = page.data["pictures"][-1]
    assert spans["spans"] and all(b <= e for _, b, e in spans["spans"])
    assert any(n.endswith("_apply_dot") or n.endswith("_direction") for n in spans["names"]), spans["names"]


def bytes_are_those_of_the_model(folder):
    """A kernel's rate times its seconds are bytes of a whole number of calls."""
    page, said = solve(folder, "--problem", "poisson2d:50", "--resident", "off", "--maxit", "20", status=1)
    page.check(5)
    row = next(r for r in page.rows if r and r[0] == "stencil_direction")
    seconds = float(row[2].split()[0]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[row[2].split()[1]]
    moved = float(row[5]) * 1e9 * seconds
    assert abs(moved / (int(row[1]) * 3 * 8 * 2500) - 1) < 0.05, (row, moved)


def restarts_and_promotions(folder):
    page, said = solve(folder, "--problem", "poisson2d:30", "--precision", "mixed", "--resident", "off")
    page.check(4)
    same_numbers(page, said)
    assert said["restarts"] > 0 and len(said["true_residuals"]) == said["restarts"] + 2
    assert "began anew" in page.source


def several_devices(folder):
    page, said = solve(folder, "--problem", "poisson2d:24", "--format", "csr", "--device", "cpu/2,use-all")
    page.check(5)
    same_numbers(page, said)
    assert "devices" in page.ids
    rows = [r for r in page.rows if r and r[0] in "01" and len(r) == 8]
    assert sum(int(r[2].replace(" ", "")) for r in rows[-2:]) == 576, rows
    assert [r[4] for r in rows[-2:]] == ["24", "24"], rows  # a line of the grid each


def benchmarks(folder):
    page = pathlib.Path(folder, "page.html")
    done = run("bench", "cg", "--problem", "poisson2d:20", "--problem", "poisson2d:24", "--device", "host", "--json",
               "--html", page)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    Page(page).check(1)
    assert len(said) == 2
    text = page.read_text()
    assert f"{said[0]['gbytes_per_s']:.2f}" in text and "poisson2d:24" in text
    done = run("bench", "mtx", "--n", "2000", "--html", page)
    assert re.fullmatch(rb"\d+ results in .*page.html\n", done.stdout), done.stdout
    assert "mtx_parse" in Page(page).check(1).source
    for words in (["cg", "--problem", "poisson2d:20", "--device", "host"], ["mtx", "--n", "2000"]):
        run("bench", *words, "--html", page)
        shown = Page(page).check(1)
        headings = [*shown.facts, *re.findall("<th[^>]*>([^<]*)", "".join(re.findall("<thead>.*?</thead>", shown.source, re.S)))]
        assert len(headings) > 3 and not [h for h in headings if "_" in h], headings


def single_step(folder):
    """A direct solve: two residuals are told, not drawn."""
    page, said = solve(folder, "--problem", "poisson2d:12", "--format", "csr", "--method", "direct")
    assert said["iterations"] == 1 and "no curve" in page.source and 'id="curve"' not in page.source


def papers(folder):
    page = pathlib.Path(folder, "page.html")
    done = run("reproduce", "wang", "--max-n", "64", "--resident", "off", "--json", "--html", page)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    page = Page(page).check(3)
    assert page.headings[1:3] == ["table 1", "figure 11"], page.headings
    rows = [r for r in page.rows if r and r[0] == "64"]
    assert rows[0][1:4] == ["96", "96", "96"], rows[0]  # ours, theirs, golden
    for one in said:
        if one["column"] == "error_inf" and one["row"] == "64":
            assert rows[0][4] == f"{one['ours']:.5g}" and rows[0][5] == f"{one['theirs']:.5g}"


def what_cannot_be_written(folder):
    for words in (["--html", folder], ["--html", folder + "/no/page.html"],
                  ["--html", folder + "/x", "--out", folder + "/x"]):
        done = run("solve", "--problem", "poisson2d:4", "--device", "host", *words, status=2)
        assert b"cannot write" in done.stderr or b"same file" in done.stderr, done.stderr
        assert not done.stdout
    kept = pathlib.Path(folder, "kept.html")
    kept.write_text("old")
    run("solve", "--problem", "poisson2d:4", "--method", "jacobi", "--precond", "amg", "--html", kept, status=2)
    assert kept.read_text() == "old"
    if os.path.exists("/dev/full"):
        run("solve", "--problem", "poisson2d:4", "--device", "host", "--html", "/dev/full", status=2)
    assert sorted(os.listdir(folder)) == ["kept.html"], os.listdir(folder)


STRUCTURE = [grid_on_the_host, long_history, a_million_rows, names_are_text, matrix_with_levels,
             bytes_are_those_of_the_model, restarts_and_promotions, several_devices, single_step, benchmarks, papers,
             what_cannot_be_written]

# ---- in a browser --------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def browse(folder, page, *words):
    """Standard output of headless Chromium; errors on the console fail."""
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--enable-logging=stderr", "--virtual-time-budget=3000", "--user-data-dir=" + folder + "/profile", *words,
         pathlib.Path(page).as_uri()], capture_output=True, timeout=300)
    console = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    assert not console, console
    return done.stdout.decode()


def first_pixel(png):
    """Red, green, blue of the top left pixel; width and height."""
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, head = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            head = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    return tuple(zlib.decompressobj().decompress(packed, 4)[1:4]), head[:2]


def example(folder):
    page, _ = solve(folder, "--problem", "poisson2d:32", "--format", "auto", "--precond", "amg")
    return page.path


def works_with_its_script(folder):
    """Keys move the cursor and zoom; the axis follows; the tip says a value."""
    page = example(folder)
    probe = """<script>
      var s = document.querySelector('svg.zoom'), key = function (k) {
        s.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: true })); };
      var before = s.querySelector('.across').textContent;
      key('+'); key('ArrowRight');
      var said = [s.querySelector('svg.view').getAttribute('viewBox'), s.querySelector('.across').textContent !== before,
        document.getElementById('tip').textContent, s.querySelector('.cursor').getAttribute('visibility')];
      key('0');
      said.push(s.querySelector('svg.view').getAttribute('viewBox'), document.querySelectorAll('.tools button').length,
        document.querySelectorAll('svg.zoom').length);
      document.title = JSON.stringify(said);
    </script></body>"""
    page.write_text(page.read_text().replace("</body>", probe))
    dom = browse(folder, page, "--dump-dom")
    said = json.loads(html.unescape(re.search("<title>(.*?)</title>", dom, re.S).group(1)))
    view, moved, tip, cursor, whole, buttons, pictures = said
    assert view != "0 0 1000 1000" and whole == "0 0 1000 1000", said
    assert moved and cursor == "visible" and "iteration" in tip and "recurrence" in tip, said
    assert pictures >= 3 and buttons == 3 * pictures, said


def light_dark_and_narrow(folder):
    page, shot = example(folder), pathlib.Path(folder, "shot.png")
    seen = {}
    for look, words in (("light", ["--blink-settings=preferredColorScheme=1", "--window-size=1100,900"]),
                        ("dark", ["--blink-settings=preferredColorScheme=0", "--window-size=1100,900"]),
                        ("narrow", ["--blink-settings=preferredColorScheme=1", "--window-size=500,900"])):
        browse(folder, page, f"--screenshot={shot}", *words)
        seen[look] = first_pixel(shot)
        assert shot.stat().st_size > 15000, f"{look}: almost nothing is drawn"
    assert min(seen["light"][0]) > 230 and max(seen["dark"][0]) < 40, seen
    assert seen["light"][1] == (1100, 900) and seen["narrow"][1] == (500, 900), seen
    wide = """<script>document.title = document.documentElement.scrollWidth + ' ' + innerWidth;</script></body>"""
    page.write_text(page.read_text().replace("</body>", wide))
    dom = browse(folder, page, "--dump-dom", "--window-size=500,900")
    scroll, inner = map(int, re.search("<title>(.*?)</title>", dom).group(1).split())
    assert scroll <= inner, f"the page is {scroll} wide in a window of {inner}"


def prints(folder):
    page, pdf = example(folder), pathlib.Path(folder, "page.pdf")
    browse(folder, page, f"--print-to-pdf={pdf}")
    data = pdf.read_bytes()
    assert data.startswith(b"%PDF") and len(data) > 20000
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 12


def every_page_without_errors(folder):
    for i, words in enumerate((["solve", "--problem", "poisson2d:40", "--device", "host"],
                               ["solve", "--problem", "poisson2d:24", "--format", "csr", "--device", "cpu/2,use-all"],
                               ["bench", "mtx", "--n", "2000"],
                               ["reproduce", "wang", "--max-n", "64", "--resident", "off"])):
        page = pathlib.Path(folder, f"page-{i}.html")
        run(*words, "--html", page)
        dom = browse(folder, page, "--dump-dom")
        assert dom.count('class="tools"') == dom.count('class="zoom"')


ON_HOST = {grid_on_the_host, long_history, a_million_rows, names_are_text, benchmarks, what_cannot_be_written,
           every_page_without_errors}
BROWSER = [works_with_its_script, light_dark_and_narrow, prints, every_page_without_errors]


def main():
    tests = BROWSER if "--browser" in sys.argv else STRUCTURE
    if tests is BROWSER and not CHROMIUM:
        print("1..0 # SKIP there is no Chromium: apt-get install chromium")
        return
    has_host = b"\nhost " in b"\n" + run("devices").stdout
    print(f"1..{len(tests)}")
    for i, test in enumerate(tests, 1):
        name = test.__name__
        if test in ON_HOST and not has_host:
            print(f"ok {i} {name} # SKIP kry was built without kernels for the host")
            continue
        with tempfile.TemporaryDirectory(prefix="kry-html.", ignore_cleanup_errors=True) as folder:
            try:
                test(folder)
                print(f"ok {i} {name}", flush=True)
            except Exception as e:
                print(f"not ok {i} {name}\n# {type(e).__name__}: {str(e)[:1500]}", flush=True)


main()
