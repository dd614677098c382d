(function () {
  'use strict';
  var tip = document.createElement('div');
  tip.className = 'soma-tip';
  tip.hidden = true;
  tip.setAttribute('aria-hidden', 'true');
  var SVG = 'http://www.w3.org/2000/svg';

  // Titles of marks become ours, so that a browser does not show them a second time.
  function adopt(svg) {
    svg.querySelectorAll('* > title').forEach(function (title) {
      var of = title.parentNode;
      if (of === svg) {
        svg.setAttribute('aria-label', title.textContent);
        svg.removeAttribute('aria-labelledby');
      } else {
        of.setAttribute('data-tip', title.textContent);
      }
      title.remove();
    });
  }

  function points(path) {
    if (!path.somaPoints) {
      path.somaPoints = path.getAttribute('d').slice(1).split(/[ML]/).map(function (pair) {
        return pair.split(' ').map(Number);
      });
    }
    return path.somaPoints;
  }

  // The height of a line above x; nothing beyond its ends.
  function height(path, x) {
    var all = points(path);
    for (var k = 1; k < all.length; k++) {
      var a = all[k - 1], b = all[k];
      if (a[0] <= x && x <= b[0]) {
        return b[0] === a[0] ? b[1] : a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]);
      }
    }
    return null;
  }

  function said(value) {
    var size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2);
    return String(Number(value.toPrecision(4)));
  }

  function value(area, name, at) {
    var ends = area.getAttribute('data-' + name).split(',').map(Number);
    var from = Number(area.getAttribute(name));
    var long = Number(area.getAttribute(name === 'x' ? 'width' : 'height'));
    var part = (at - from) / long;
    return name === 'x' ? ends[0] + part * (ends[1] - ends[0]) : ends[1] - part * (ends[1] - ends[0]);
  }

  function along(svg, event) {
    var area = svg.querySelector('.area');
    var lines = svg.querySelectorAll('path[data-name]');
    if (!area || !lines.length) return '';
    var place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    var box = ['x', 'y', 'width', 'height'].map(function (name) { return Number(area.getAttribute(name)); });
    if (place.x < box[0] || place.x > box[0] + box[2] || place.y < box[1] || place.y > box[1] + box[3]) return '';
    var rows = [];
    lines.forEach(function (line) {
      var y = height(line, place.x);
      if (y !== null) rows.push(line.getAttribute('data-name') + ': ' + said(value(area, 'y', y)));
    });
    if (!rows.length) return '';
    guide(svg, place.x, box);
    return 'at ' + said(value(area, 'x', place.x)) + '\n' + rows.join('\n');
  }

  function guide(svg, x, box) {
    var line = svg.querySelector('.guide');
    if (!line) {
      line = document.createElementNS(SVG, 'line');
      line.setAttribute('class', 'guide');
      svg.appendChild(line);
    }
    line.setAttribute('x1', x);
    line.setAttribute('x2', x);
    line.setAttribute('y1', box[1]);
    line.setAttribute('y2', box[1] + box[3]);
  }

  function hide(svg) {
    tip.hidden = true;
    var line = svg.querySelector('.guide');
    if (line) line.remove();
  }

  function show(svg, event) {
    var mark = event.target.closest('[data-tip]');
    var line = mark && mark.hasAttribute('data-name');
    var text = mark && !line ? mark.getAttribute('data-tip') : along(svg, event);
    if (!text) return hide(svg);
    tip.textContent = text;
    tip.hidden = false;
    var box = tip.getBoundingClientRect();
    var x = Math.min(event.clientX + 14, window.innerWidth - box.width - 6);
    var y = event.clientY + 16;
    if (y + box.height > window.innerHeight) y = event.clientY - box.height - 12;
    tip.style.left = Math.max(4, x) + 'px';
    tip.style.top = Math.max(4, y) + 'px';
  }

  document.querySelectorAll('.soma-report').forEach(function (report) {
    if (report.somaReady) return;
    report.somaReady = true;
    report.appendChild(tip);
    report.querySelectorAll('svg.soma').forEach(function (svg) {
      adopt(svg);
      svg.addEventListener('pointermove', function (event) { show(svg, event); });
      svg.addEventListener('pointerdown', function (event) { show(svg, event); });
      svg.addEventListener('pointerleave', function () { hide(svg); });
    });
  });
}());
