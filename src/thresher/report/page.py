"""The frame of a page and its style sheet, for paper-white and for dark screens."""

from string import Template

PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<main>
$body
</main>
</body>
</html>
""")

ON_PHONES = "(max-width: 560px)"

STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #fdfcfa; --ink: #22262c; --soft: #666d78; --line: #e4e0d8; --wash: #f5f2ec;
  --accent: #925f06; --mark: #f6e2b5;
  --serif: "Iowan Old Style", "Palatino Linotype", Palatino, "Book Antiqua", Georgia, serif;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #141619; --ink: #e6e4df; --soft: #979da7; --line: #30343a; --wash: #1e2125;
    --accent: #dfa23c; --mark: #5c4310;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.6 var(--sans); -webkit-text-size-adjust: 100%;
}
main { max-width: 860px; margin: 0 auto; padding: 72px 24px 96px; }
header { margin-bottom: 40px; }
.kicker {
  margin: 0 0 12px; color: var(--accent); font-size: 14px; font-weight: 600;
  letter-spacing: 0.04em;
}
h1 {
  margin: 0 0 20px; font: 600 clamp(30px, 6vw, 44px)/1.15 var(--serif);
  letter-spacing: -0.01em; text-wrap: balance;
}
.lead { margin: 0; max-width: 38em; font: 20px/1.55 var(--serif); text-wrap: pretty; }
h2 { margin: 64px 0 12px; font: 600 25px/1.25 var(--serif); }
p { margin: 0 0 16px; max-width: 40em; text-wrap: pretty; }
figure { margin: 24px 0 0; }
figure + p { margin-top: 20px; }
.scroll { overflow-x: auto; }
picture img { display: block; width: 100%; height: auto; }
figcaption, .footnote { margin-top: 12px; max-width: 46em; color: var(--soft); font-size: 15px; }
.footnote { margin-top: 64px; padding-top: 16px; border-top: 1px solid var(--line); }
.facts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 24px 32px;
  margin: 0; padding: 24px 0; border: solid var(--line); border-width: 1px 0;
}
.facts dd {
  margin: 0 0 4px; font: 600 30px/1.2 var(--serif); font-variant-numeric: lining-nums;
}
.facts dt { color: var(--soft); font-size: 15px; line-height: 1.4; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums lining-nums; }
th, td { padding: 9px 0 9px 16px; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child { padding-left: 0; text-align: left; }
thead th { color: var(--soft); font-size: 15px; font-weight: 500; vertical-align: bottom; }
tbody th { min-width: 5em; font-weight: 400; }
td { white-space: nowrap; }
td.long { white-space: normal; }
td strong { color: var(--accent); font-weight: 650; }
h3 { margin: 28px 0 6px; font: 600 17px/1.35 var(--sans); }
blockquote {
  margin: 0; max-width: 42em; padding-left: 16px; border-left: 2px solid var(--line);
  overflow-wrap: anywhere;
}
mark { padding: 1px 3px; border-radius: 3px; background: var(--mark); color: inherit; }
.reasons { margin: 0; max-width: 46em; }
.reasons dt { margin-top: 14px; font: 15px/1.5 var(--mono); overflow-wrap: anywhere; }
.reasons dd { margin: 2px 0 0; color: var(--soft); }
pre {
  margin: 16px 0; padding: 18px 20px; overflow-x: auto; background: var(--wash);
  border: 1px solid var(--line); border-radius: 6px; font: 14px/1.55 var(--mono);
}
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: inherit; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media $phones {
  body { font-size: 16px; }
  main { padding: 40px 16px 64px; }
  .lead { font-size: 18px; }
  .facts { grid-template-columns: 1fr 1fr; gap: 20px; }
  .facts dd { font-size: 26px; }
  h2 { margin-top: 48px; }
  th, td { padding-left: 8px; font-size: 14px; }
  thead th { font-size: 13px; }
  tbody th { min-width: 4em; }
  pre { padding: 14px; font-size: 12.5px; }
}
@media print {
  :root {
    color-scheme: light;
    --paper: #fff; --ink: #111; --soft: #444; --line: #bbb; --wash: #fff; --accent: #7a5000;
    --mark: #f6e2b5;
  }
  body { font-size: 11pt; }
  main { max-width: none; padding: 0; }
  h1, h2, h3, thead { break-after: avoid; }
  figure, blockquote, .facts, tr { break-inside: avoid; }
  picture img { width: auto; max-width: 100%; max-height: 200mm; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  mark { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""".replace("$phones", ON_PHONES)
