#include "properties/show/page_parts.hpp"

namespace mla::show {
namespace {

constexpr std::string_view kScript = R"(
document.addEventListener('mouseover', function (event) {
  document.querySelectorAll('.hot').forEach(function (e) { e.classList.remove('hot'); });
  var shape = event.target.closest('[data-w]');
  if (!shape) return;
  document.querySelectorAll('[data-w="' + shape.getAttribute('data-w') + '"]')
    .forEach(function (e) { e.classList.add('hot'); });
});
document.querySelectorAll('button.copy').forEach(function (button) {
  button.addEventListener('click', function () {
    var range = document.createRange();
    range.selectNodeContents(button.previousElementSibling);
    var selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    document.execCommand('copy');
  });
});
// The lanes that a filter asks for: numbers and ranges of them, else a part of the name, or wrong.
function wanted(text) {
  var parts = text.toLowerCase().split(',').map(function (p) { return p.trim(); })
    .filter(function (p) { return p !== ''; });
  return function (lane) {
    var name = lane.getAttribute('data-lane').toLowerCase();
    var numbers = (name.match(/\d+/g) || []).map(Number);
    return parts.some(function (part) {
      var range = part.match(/^(?:requests?|slots?)?\s*(\d+)(?:\s*(?:-|\u2013|to)\s*(\d+))?$/);
      if (part === 'wrong') return lane.querySelector('.wrong, .gap, .twice') !== null;
      if (!range) return name.indexOf(part) >= 0;
      var from = Number(range[1]), to = range[2] === undefined ? from : Number(range[2]);
      var last = /\u2013/.test(name) ? numbers[numbers.length - 1] : numbers[0];
      return numbers.length > 0 && numbers[0] <= to && last >= from;
    });
  };
}
document.querySelectorAll('.tools').forEach(function (tools) {
  var svg = tools.nextElementSibling.querySelector('svg');
  var lanes = Array.from(svg.querySelectorAll('[data-lane]'));
  var foot = svg.querySelector('[data-foot]');
  var box = svg.viewBox.baseVal, whole = box.height;
  var first = lanes.map(function (lane) {
    return [lane.getAttribute('transform'), lane.getAttribute('display')];
  });
  var start = foot.getAttribute('transform'), zoom = 1;
  var status = tools.querySelector('[role=status]');
  tools.querySelector('input').addEventListener('input', function (event) {
    var text = event.target.value.trim(), asked = wanted(text), y = 8, found = 0;
    svg.classList.toggle('filtered', text !== '');
    lanes.forEach(function (lane, i) {
      var on = text === '' ? first[i][1] !== 'none' : asked(lane);
      if (on) lane.removeAttribute('display'); else lane.setAttribute('display', 'none');
      if (text === '') return lane.setAttribute('transform', first[i][0]);
      if (!on) return;
      var pitch = Number(lane.getAttribute('data-pitch'));
      lane.setAttribute('transform', 'translate(0 ' + y + ')');
      y += Math.max(pitch, 13);
      found += 1;
    });
    var below = Number(start.match(/ ([\d.]+)\)/)[1]);
    foot.setAttribute('transform', text === '' ? start : 'translate(0 ' + y + ')');
    box.height = text === '' ? whole : whole - below + y;
    status.textContent = text === '' ? '' : found + ' of ' + lanes.length + ' lanes';
  });
  tools.querySelectorAll('[data-zoom]').forEach(function (button) {
    button.addEventListener('click', function () {
      zoom = Math.min(20, Math.max(1, zoom * Number(button.getAttribute('data-zoom'))));
      svg.style.width = 100 * zoom + '%';
    });
  });
});
)";

constexpr std::string_view kText =
    R"(body { font: 15px/1.45 Helvetica, Arial, 'DejaVu Sans', sans-serif;
  color: #1f2933; background: #ffffff; max-width: 1040px; margin: 24px auto; padding: 0 20px }
h1 { font-size: 19px; overflow-wrap: anywhere }
h2 { font-size: 16px; margin: 34px 0 6px; overflow-wrap: anywhere }
p, li { margin: 4px 0; overflow-wrap: anywhere }
table { border-collapse: collapse; font-size: 13.5px }
td, th { padding: 2px 14px 2px 0; text-align: left; vertical-align: top; overflow-wrap: anywhere }
th { font-weight: normal; color: #52606d; white-space: nowrap }
pre { font: 12.5px/1.4 'DejaVu Sans Mono', Menlo, Consolas, monospace; background: #f4f6f8;
  padding: 8px 10px; white-space: pre-wrap; overflow-wrap: anywhere; margin: 6px 0 }
nav { display: flex; flex-wrap: wrap; font-size: 13.5px; margin: 8px 0 }
nav a { margin-right: 14px; color: #2f6fab }
.bad { color: #b00000 } .good { color: #2f7d32 } .open { color: #8a6100 }
.notes, .tools, footer { color: #52606d; font-size: 13.5px }
footer { margin: 40px 0 10px; border-top: 1px solid #cbd2d9; padding-top: 8px }
footer span { margin-right: 18px; overflow-wrap: anywhere }
.wide { overflow-x: auto }
svg { width: 100%; height: auto; display: block; max-width: none }
.filtered .asked { display: inline }
[data-w] { cursor: pointer }
)";

constexpr std::string_view kAdapted = R"(@media (max-width: 700px) {
  body { margin: 12px auto; padding: 0 12px }
  svg { min-width: 720px }
  td, th { padding-right: 8px }
}
@media (prefers-color-scheme: dark) {
  :root { color-scheme: dark }
  body { color: #e4e7eb; background: #14181d }
  pre { background: #232a32 }
  th, .notes, .tools, footer { color: #9aa5b1 } nav a { color: #7ab8f5 }
  .bad { color: #ff8a80 } .good { color: #81c784 } .open { color: #ffcc66 }
  text { fill: #e4e7eb } .note { fill: #9aa5b1 }
  text.mid:not(.note), text[class=""] { fill: #1f2933 }
  .lane { fill: #232a32; stroke: #3e4c59 } .out { fill: #e4e7eb }
  .cut { stroke: #ffffff } .hot { stroke: #ffffff }
}
@media print {
  body { max-width: none; margin: 0; color: #000000; background: #ffffff }
  nav, .tools, button { display: none }
  .wide { overflow: visible }
  svg { width: 100% !important; break-inside: avoid }
  h2 { break-after: avoid }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
)";

}  // namespace

std::string_view page_sheet() {
  return kText;
}

std::string_view adapted_sheet() {
  return kAdapted;
}

std::string_view page_script() {
  return kScript;
}

}  // namespace mla::show
