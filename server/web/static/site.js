/* What pages gain with JavaScript: live progress, dropped files, a guess at the language of pasted code.
   Everything else is HTML; texts come from the page, in its language. */
(function () {
  "use strict";

  var LOG_LINES = 400;

  function seconds(time, first) { return "+" + (time - first).toFixed(1) + " s"; }

  function show(root, event) {
    // A connection that was refused begins anew, not where the last one ended: what was shown comes again.
    var attempt = Number(root.dataset.attempt || 0);
    if (event.attempt < attempt || (event.attempt === attempt && event.seq <= root.dataset.seq)) { return; }
    root.dataset.seq = event.seq;
    var steps = Array.from(root.querySelectorAll("[data-phase]"));
    var now = steps.findIndex(function (step) { return step.dataset.phase === event.phase; });
    if (attempt && attempt !== event.attempt) {
      root.querySelector("[data-log]").textContent = "";
      delete root.dataset.first;
    }
    root.dataset.attempt = event.attempt;
    root.dataset.first = root.dataset.first || event.time;
    steps.forEach(function (step, index) {
      var mark = step.querySelector("[data-mark]");
      step.className = index < now ? "done" : index === now ? "now" : "";
      mark.textContent = index < now ? mark.dataset.done : index === now ? mark.dataset.now : "";
    });
    root.querySelector("[data-text]").textContent = [event.case, event.text].filter(Boolean).join(" · ");
    var counted = event.total !== null && event.total > 0 && event.done !== null;
    root.querySelector("[data-count]").textContent = counted ? event.done + " / " + event.total : "";
    var bar = root.querySelector("[data-bar]");
    bar.hidden = !counted;
    if (counted) { bar.max = event.total; bar.value = event.done; }
    var log = root.querySelector("[data-log]");
    var line = [seconds(event.time, Number(root.dataset.first)), event.phase, event.case,
      counted ? event.done + "/" + event.total : "", event.text].filter(Boolean).join("  ");
    log.textContent = (log.textContent + line + "\n").split("\n").slice(-LOG_LINES).join("\n");
    log.scrollTop = log.scrollHeight;
    root.querySelector("[data-log-box]").hidden = false;
  }

  document.addEventListener("htmx:sseBeforeMessage", function (message) {
    var root = message.target.closest("[data-progress]");
    if (!root || message.detail.type !== "progress") { return; }
    message.preventDefault();
    show(root, JSON.parse(message.detail.data));
  });

  function guess(code) {
    if (!code.trim()) { return ""; }
    if (/__global__|<<<|cuda_runtime/.test(code)) { return "CUDA"; }
    if (/^[ \t]*#[ \t]*include\b|extern\s+"C"|\bstd::/m.test(code)) { return "C++"; }
    if (/^[ \t]*(import|from)[ \t]+triton\b/m.test(code)) { return "Triton"; }
    return /^[ \t]*(def|import|from|class)\s/m.test(code) ? "Python" : "";
  }

  function prepare(scope) {
    scope.querySelectorAll("[data-drop]").forEach(function (box) {
      var input = box.querySelector("input[type=file]");
      var list = box.querySelector("[data-chosen]");
      function chosen() {
        list.replaceChildren.apply(list, Array.from(input.files).map(function (file) {
          var item = document.createElement("li");
          item.textContent = file.name + " (" + file.size + " B)";
          return item;
        }));
        list.hidden = input.files.length === 0;
      }
      ["dragenter", "dragover"].forEach(function (name) {
        box.addEventListener(name, function (event) { event.preventDefault(); box.classList.add("over"); });
      });
      box.addEventListener("dragleave", function () { box.classList.remove("over"); });
      box.addEventListener("drop", function (event) {
        event.preventDefault();
        box.classList.remove("over");
        if (event.dataTransfer.files.length) { input.files = event.dataTransfer.files; chosen(); }
      });
      input.addEventListener("change", chosen);
    });
    var code = scope.querySelector("#code"), detected = scope.querySelector("[data-detected]");
    if (code && detected) {
      code.addEventListener("input", function () {
        var name = guess(code.value);
        detected.textContent = name ? detected.dataset.template.replace("{}", name) : "";
      });
    }
  }

  function left(seconds) {
    var units = document.body.dataset.units.split(" "), sizes = [86400, 3600, 60, 1], parts = [];
    for (var index = 0; index < sizes.length && parts.length < 2; index += 1) {
      var value = Math.floor(seconds / sizes[index]);
      if (value || parts.length) { parts.push(value + " " + units[index]); seconds -= value * sizes[index]; }
    }
    return parts.join(" ") || "0 " + units[3];
  }

  /* Deadlines count down by the server's clock as the page told it: a wrong clock here shifts nothing. */
  function countDown() {
    var shown = Array.from(document.querySelectorAll("[data-until]"));
    if (!shown.length) { return; }
    var ahead = Date.now() / 1000 - Number(document.body.dataset.now);
    setInterval(function () {
      shown.forEach(function (one) {
        var seconds = Math.floor(Number(one.dataset.until) - (Date.now() / 1000 - ahead));
        if (seconds >= 0) { one.textContent = left(seconds); }
      });
    }, 1000);
  }

  document.addEventListener("DOMContentLoaded", function () { prepare(document); countDown(); });
})();
