/*
 * html_style.c - how a page looks: in light and in dark, printed, on a narrow screen.
 *
 * Colours k0 ... k7 are those of Okabe and Ito, which people tell apart whose eyes lack one kind of cone; in dark
 * the same hues, lighter. Dots, dashes and words say it besides.
 */
#include "html.h"

const char *const html_style[] = {
    ":root{color-scheme:light dark;--paper:#fff;--page:#f4f5f7;--ink:#1d2430;--soft:#5b6573;",
    "--rule:#d9dde3;--grid:#e3e6eb;--code:#eef1f5;--good:#00664b;--bad:#a84300;--plain:#40506a;",
    "--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#e69f00;--c4:#b5598f;--c5:#56b4e9;--c6:#1d2430;",
    "--c7:#9aa3af}",
    "@media(prefers-color-scheme:dark){:root{--paper:#171b22;--page:#0e1116;--ink:#e4e8ee;",
    "--soft:#a0aab8;--rule:#333b47;--grid:#29303a;--code:#232a34;--good:#3fd0a4;--bad:#ff9a57;",
    "--plain:#a9bbd8;--c0:#5ab4f0;--c1:#ff8a3d;--c2:#2fc79c;--c3:#f2b640;--c4:#e297c4;",
    "--c5:#a5d8f8;--c6:#e4e8ee;--c7:#707b8a}}",
    "*{box-sizing:border-box}",
    "body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,",
    "'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif}",
    "main{max-width:1000px;margin:0 auto;padding:24px 16px 48px}",
    "section{background:var(--paper);border:1px solid var(--rule);border-radius:8px;",
    "padding:18px 22px;margin:0 0 16px}",
    "h1{font-size:24px;line-height:1.25;margin:0 0 6px;overflow-wrap:anywhere}",
    "h2{font-size:18px;margin:0 0 8px}h3{font-size:15px;margin:18px 0 4px}",
    "p{margin:6px "
    "0;max-width:60em;overflow-wrap:anywhere}.soft,figcaption,caption{color:var(--soft)}",
    ".verdict{font-weight:600}.verdict b{border:2px solid;border-radius:6px;padding:1px 9px;",
    "margin-right:6px;white-space:nowrap}.good b{color:var(--good)}.bad b{color:var(--bad)}",
    ".done b{color:var(--plain)}",
    ".command{background:var(--code);border-radius:6px;padding:8px 12px;margin:10px 0;",
    "white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,'DejaVu Sans "
    "Mono',Menlo,",
    "Consolas,monospace}",
    ".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:4px "
    "28px;",
    "align-items:start}.two>*{min-width:0}",
    ".scroll{overflow-x:auto}",
    "table{border-collapse:collapse;font-size:14px;margin:4px 0}",
    "caption{text-align:left;padding:2px 0 4px;white-space:nowrap}",
    "th,td{text-align:left;vertical-align:top;padding:3px 16px 3px 0;border-top:1px solid "
    "var(--rule)}",
    "thead th{border-top:0;color:var(--soft);font-weight:600}tbody th{font-weight:400;",
    "color:var(--soft);white-space:nowrap}",
    "td:not(.n):not(:first-child){min-width:9em}.facts td{overflow-wrap:anywhere}",
    ".n{text-align:right;white-space:nowrap;",
    "font-variant-numeric:tabular-nums}.facts{width:100%}tr.on td{font-weight:600}",
    "details{margin:6px 0}summary{cursor:pointer;color:var(--soft)}",
    "figure{margin:6px 0}figcaption{font-size:13.5px}",
    "figure>.scroll>svg{display:block;width:100%;height:auto;min-width:560px}",
    "figure.small>.scroll>svg{min-width:0}",
    "svg text{fill:var(--ink);font-size:12.5px}svg text.axis,svg text.faint{fill:var(--soft)}",
    "svg text.said{paint-order:stroke;stroke:var(--paper);stroke-width:4px}",
    "svg tspan{font-size:9.5px}svg.view text{font-size:inherit}",
    ".grid{stroke:var(--grid)}.grid.faint{opacity:.5}",
    ".line,.dots,.level,.mark{fill:none;vector-effect:non-scaling-stroke;stroke-linejoin:round}",
    ".line{stroke-width:1.8}.dots{stroke-width:8;stroke-linecap:round}.level{stroke-width:1.6;",
    "stroke-dasharray:7 5}.mark{stroke-width:1.4;stroke-dasharray:2 4}",
    ".k0{stroke:var(--c0);--fill:var(--c0)}.k1{stroke:var(--c1);--fill:var(--c1)}",
    ".k2{stroke:var(--c2);--fill:var(--c2)}.k3{stroke:var(--c3);--fill:var(--c3)}",
    ".k4{stroke:var(--c4);--fill:var(--c4)}.k5{stroke:var(--c5);--fill:var(--c5)}",
    ".k6{stroke:var(--c6);--fill:var(--c6)}.k7{stroke:var(--c7);--fill:var(--c7)}",
    ".area{stroke:none;fill:var(--fill)}.edge{stroke:var(--ink);fill:none}",
    ".border{stroke:var(--c6);stroke-dasharray:5 4}",
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 20px;margin:6px 0 2px;padding:0;",
    "font-size:13.5px}.legend li{display:flex;align-items:center;gap:7px}",
    ".legend svg{flex:none;overflow:visible}",
    ".tools{display:flex;gap:6px;align-items:center;flex-wrap:wrap;font-size:13px;color:var(--soft)"
    "}",
    "button{font:inherit;color:var(--ink);background:var(--code);border:1px solid var(--rule);",
    "border-radius:5px;padding:1px 10px;cursor:pointer}",
    ":focus-visible{outline:2px solid var(--c0);outline-offset:2px}",
    ".cursor{stroke:var(--soft);stroke-dasharray:3 3;pointer-events:none}",
    "svg.zoom{touch-action:pan-y}svg.view{overflow:visible}svg.view.part{overflow:hidden}",
    "#tip{position:fixed;z-index:9;pointer-events:none;background:var(--ink);color:var(--paper);",
    "border-radius:5px;padding:4px 9px;font-size:13px;line-height:1.4;white-space:pre-line;",
    "max-width:340px}#tip:empty{display:none}",
    "@media(max-width:640px){main{padding:8px 6px 24px}section{padding:12px "
    "12px;border-radius:6px}",
    "h1{font-size:20px}tbody th,caption{white-space:normal}}",
    "@media print{:root{--paper:#fff;--page:#fff;--ink:#000;--soft:#444;--rule:#bbb;--grid:#ddd;",
    "--code:#f2f2f2;--good:#00664b;--bad:#a84300;--plain:#40506a;--c0:#0072b2;--c1:#d55e00;",
    "--c2:#009e73;--c3:#e69f00;--c4:#b5598f;--c5:#56b4e9;--c6:#000;--c7:#9aa3af}",
    "body{font-size:11pt;print-color-adjust:exact;-webkit-print-color-adjust:exact}",
    "main{max-width:none;padding:0}section{border:0;padding:0;margin:0 0 12pt}",
    "figure,.chart,tr{break-inside:avoid}h2,h3{break-after:avoid}.tools,#tip{display:none}",
    "figure>.scroll>svg{min-width:0}}",
    NULL
};
