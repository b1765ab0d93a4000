// Runs the module beside the page, which stays responsive and can end it.
'use strict';
var module = null, instance = null;

// The module opens no file and asks for no time: each function of WASI says that there is none.
function imports() {
  var out = {};
  WebAssembly.Module.imports(module).forEach(function (wanted) {
    out[wanted.module] = out[wanted.module] || {};
    out[wanted.module][wanted.name] = function () { return 52; };  // ENOSYS
  });
  return out;
}

function fresh() {
  return WebAssembly.instantiate(module, imports()).then(function (made) {
    instance = made.exports;
    instance._initialize();
  });
}

function give(bytes) {
  var place = instance.text_room(bytes.length) >>> 0;
  new Uint8Array(instance.memory.buffer, place, bytes.length).set(bytes);
}

function ask(question) {
  var encoder = new TextEncoder();
  if (question.line !== undefined) {
    give(encoder.encode(question.line));
    instance.ask_case(question.step);
  } else {
    question.files.forEach(function (file) {
      give(encoder.encode(file.name));
      instance.take_name();
      give(new Uint8Array(file.bytes));
      instance.take_file();
    });
    give(encoder.encode(question.name));
    instance.ask_files(question.step);
  }
  var bytes = new Uint8Array(instance.memory.buffer, instance.answer_text() >>> 0,
    instance.answer_bytes() >>> 0);
  return JSON.parse(new TextDecoder().decode(bytes));
}

// What is left of an instance that ended in the middle is not used again.
function answer(question) {
  return (instance ? Promise.resolve() : fresh()).then(function () {
    var out;
    try {
      out = ask(question);
    } catch (error) {
      instance = null;
      out = { error: 'the page could not go on with this (' + error.message + '), most likely for want of ' +
        'memory: the command mla-testbed takes more' };
    }
    out.number = question.number;
    postMessage(out);
  });
}

var before = Promise.resolve();
onmessage = function (event) {
  before = before.then(function () {
    if (event.data.wasm === undefined) return answer(event.data);
    return WebAssembly.compile(event.data.wasm).then(function (compiled) {
      module = compiled;
      return fresh();
    }).then(function () { postMessage({ ready: true }); });
  }).catch(function (error) { postMessage({ failed: String(error) }); });
};
