'use strict';
var kMostBytes = 512 * 1024 * 1024;  // of the files of one bundle
var asked = 0, since = 0, shown = null, bundles = [], worker = null, current = null;

function element(id) { return document.getElementById(id); }

function say(kind, text) {
  element('status').className = kind;
  element('status').textContent = text;
}

function select_tab(name) {
  document.querySelectorAll('[role=tab]').forEach(function (tab) {
    var on = tab.getAttribute('data-tab') === name;
    tab.setAttribute('aria-selected', String(on));
    element(tab.getAttribute('data-tab')).hidden = !on;
  });
}

// The step that the address or the field names.
function whole(text) { return /^\d{1,9}$/.test(text || '') ? Number(text) : 0; }

function read_link() {
  var fields = new URLSearchParams(location.hash.slice(1));
  return { line: fields.get('case'), step: whole(fields.get('step')) };
}

// encodeURIComponent keeps all characters of a case that an address may have.
function link_of(line, step) {
  return '#case=' + encodeURIComponent(line).replace(/%3A/g, ':').replace(/%3B/g, ';')
    .replace(/%3D/g, '=').replace(/%2F/g, '/') + (step > 0 ? '&step=' + step : '');
}

function ask(question, transferred) {
  current = question;
  question.number = ++asked;
  since = performance.now();
  say('', 'Planning…');
  worker.postMessage(question, transferred || []);
}

function ask_case(line, step) {
  line = line.trim();
  if (line === '') return say('error', 'no case: type one, as in mla1:2q4s900;heads=8;cu=4');
  element('case').value = line;
  element('found').hidden = true;
  bundles = [];
  var link = link_of(line, step);
  if (location.hash !== link) location.hash = link;
  ask({ line: line, step: step });
}

function ask_bundle(step) {
  var bundle = bundles[Number(element('found').value) || 0];
  var bytes = bundle.files.reduce(function (sum, file) { return sum + file.size; }, 0);
  if (bytes > kMostBytes)
    return fail("'" + bundle.name + "' has " + Math.round(bytes / 1048576) + ' MiB, and this page takes ' +
      kMostBytes / 1048576 + ': use mla-testbed check');
  say('', 'Reading…');
  Promise.all(bundle.files.map(function (file) {
    return file.arrayBuffer().then(function (b) { return { name: file.name, bytes: b }; });
  })).then(function (files) {
    ask({ name: bundle.name, files: files, step: step }, files.map(function (f) { return f.bytes; }));
  }).catch(function (error) { fail("'" + bundle.name + "' cannot be read: " + error.message); });
}

function fail(sentence) {
  ['tabs', 'pictures', 'plan', 'check', 'about', 'steps'].forEach(function (id) {
    element(id).hidden = true;
  });
  say('error', sentence);
}

// Pictures are there when the frame has them; a plan without any says why.
function finish(answer) {
  var took = Math.round(performance.now() - since);
  document.body.setAttribute('data-took', String(took));
  say(answer.state, (bundles.length > 0 ? answer.name + ': ' : '') + answer.summary +
    (answer.undrawn ? '; ' + answer.undrawn : '') + ' (' + took + ' ms)');
  document.body.setAttribute('data-shown', String(answer.number));
}

function show_answer(answer) {
  if (answer.number !== asked) return;
  if (answer.error !== undefined) {
    fail(answer.error);
    return document.body.setAttribute('data-shown', String(answer.number));
  }
  shown = answer;
  element('about').hidden = true;
  element('tabs').hidden = false;
  element('plan').firstChild.textContent = answer.plan || 'A dump has the plan alone, not what was decided.';
  element('check').firstChild.textContent = answer.check;
  element('steps').hidden = answer.steps < 2;
  element('step').value = answer.step;
  element('step').max = answer.steps - 1;
  element('count').textContent = 'of ' + answer.steps;
  element('save').hidden = answer.page === '';
  element('link').hidden = current.line === undefined;
  select_tab(answer.page === '' ? 'check' : 'pictures');
  if (answer.page === '') return finish(answer);
  var frame = element('frame');
  frame.onload = function () { finish(answer); };
  frame.srcdoc = answer.page;
}

// Folders with a manifest, and files that are a dump by themselves.
function find_bundles(files) {
  var folders = {};
  files.forEach(function (found) {
    var folder = found.path.split('/').slice(0, -1).join('/');
    (folders[folder] = folders[folder] || []).push(found.file);
  });
  var out = [];
  Object.keys(folders).sort().forEach(function (folder) {
    var manifest = folders[folder].some(function (f) { return f.name === 'manifest.json'; });
    if (manifest) return out.push({ name: folder || 'manifest.json', files: folders[folder] });
    folders[folder].forEach(function (f) {
      if (/\.(json|safetensors)$/.test(f.name)) out.push({ name: f.name, files: [f] });
    });
  });
  return out;
}

function take(files) {
  bundles = find_bundles(files);
  if (bundles.length === 0)
    return fail('no bundle among ' + files.length + ' files: a bundle is a folder with manifest.json, or a ' +
      'JSON or .safetensors file');
  var found = element('found');
  found.replaceChildren.apply(found, bundles.map(function (bundle, i) {
    return new Option(bundle.name, String(i));
  }));
  found.hidden = bundles.length < 2;
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
  element('case').value = '';
  ask_bundle(0);
}

function picked(event) {
  var files = Array.from(event.target.files).map(function (file) {
    return { path: file.webkitRelativePath || file.name, file: file };
  });
  event.target.value = '';
  if (files.length > 0) take(files);
}

// All files of a dropped entry; a folder gives its entries in portions.
function walk(entry, out) {
  if (entry.isFile)
    return new Promise(function (done, failed) { entry.file(done, failed); }).then(function (file) {
      out.push({ path: entry.fullPath.slice(1), file: file });
    });
  var reader = entry.createReader();
  function portion() {
    return new Promise(function (done, failed) { reader.readEntries(done, failed); })
      .then(function (entries) {
        if (entries.length === 0) return undefined;
        return Promise.all(entries.map(function (e) { return walk(e, out); })).then(portion);
      });
  }
  return portion();
}

function dropped(event) {
  event.preventDefault();
  document.body.classList.remove('over');
  var entries = Array.from(event.dataTransfer.items).map(function (item) {
    return item.webkitGetAsEntry ? item.webkitGetAsEntry() : null;
  }).filter(Boolean);
  var out = [];
  Promise.all(entries.map(function (entry) { return walk(entry, out); }))
    .then(function () { take(out); })
    .catch(function (error) { fail('what was dropped cannot be read: ' + error.message); });
}

function again(step) {
  if (bundles.length > 0) ask_bundle(step); else ask_case(element('case').value, step);
}

function listen() {
  element('form').addEventListener('submit', function (event) {
    event.preventDefault();
    ask_case(element('case').value, 0);
  });
  element('examples').addEventListener('change', function (event) {
    if (event.target.value !== '') ask_case(event.target.value, 0);
    event.target.value = '';
  });
  element('folder').addEventListener('change', picked);
  element('file').addEventListener('change', picked);
  element('found').addEventListener('change', function () { ask_bundle(0); });
  element('step').addEventListener('change', function (event) { again(whole(event.target.value)); });
  document.querySelectorAll('[role=tab]').forEach(function (tab) {
    tab.addEventListener('click', function () { select_tab(tab.getAttribute('data-tab')); });
  });
  element('link').addEventListener('click', function () {
    navigator.clipboard.writeText(location.href).then(
      function () { element('link').textContent = 'Copied'; },
      function () { prompt('The link', location.href); });
    setTimeout(function () { element('link').textContent = 'Copy link'; }, 2000);
  });
  element('save').addEventListener('click', function () {
    var link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([shown.page], { type: 'text/html' }));
    link.download = 'plan.html';
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  });
  document.addEventListener('dragover', function (event) {
    event.preventDefault();
    document.body.classList.add('over');
  });
  document.addEventListener('dragleave', function (event) {
    if (event.relatedTarget === null) document.body.classList.remove('over');
  });
  document.addEventListener('drop', dropped);
  window.addEventListener('hashchange', function () {
    var link = read_link();
    if (link.line && (link.line !== (current && current.line) || link.step !== current.step))
      ask_case(link.line, link.step);
  });
}

function start(source, wasm) {
  var bytes = Uint8Array.from(atob(wasm), function (c) { return c.charCodeAt(0); });
  worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
  worker.onmessage = function (event) {
    if (event.data.failed) return fail('this browser cannot run the page: ' + event.data.failed);
    if (!event.data.ready) return show_answer(event.data);
    document.body.setAttribute('data-ready', '1');
    say('', '');
    listen();
    var link = read_link();
    if (link.line) ask_case(link.line, link.step);
  };
  worker.postMessage({ wasm: bytes });
}
