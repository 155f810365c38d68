// Draws each figure from the table behind it, so that a chart and its table cannot differ. Texts are set as text only.
"use strict";
(() => {
  const UNITS = [[1, "seconds"], [60, "minutes"], [3600, "hours"], [86400, "days"]];
  const plot = (options) => Plot.plot({
    style: {background: "transparent", color: "inherit", fontSize: "12px", fontFamily: "inherit"}, ...options,
  });
  const short = (number) => (Number.isInteger(number) ? d3.format("~s")(number) : "");  // all are counts
  // times in UTC with 24 hours; days below the hours if there are several
  const timeTicks = (span) => d3.utcFormat(span < 600000 ? "%H:%M:%S" : span < 43200000 ? "%H:%M" : "%H:%M\n%b %d");
  const value = (cell) => {
    const text = cell.dataset.v ?? cell.textContent;
    return text === "" ? null : cell.classList.contains("number") ? Number(text) : text;
  };
  const rowsOf = (figure) => {
    const keys = [...figure.querySelectorAll("thead th")].map((head) => head.dataset.key);
    return [...figure.querySelectorAll("tbody tr")].map((row) =>
      Object.fromEntries([...row.cells].map((cell, index) => [keys[index], value(cell)])));
  };
  const bars = (width, rows, label, key, title, fill, text) => plot({
    width, height: 22 * rows.length + 56, marginBottom: 44, marginLeft: Math.min(220, width * 0.4), marginRight: Math.min(150, width * 0.3),
    ariaLabel: title, x: {label: title, labelOffset: 40, grid: true, tickFormat: short, ticks: Math.max(2, width / 160), nice: true},
    y: {label: null, domain: rows.map((row) => row[label])},
    marks: [
      Plot.axisY({label: null, tickSize: 0, lineWidth: Math.min(220, width * 0.4) / 14, textOverflow: "ellipsis-middle"}),
      Plot.barX(rows, {x: key, y: label, fill, insetTop: 2, insetBottom: 2}),
      Plot.text(rows, {x: key, y: label, text, textAnchor: "start", dx: 5, fill: "currentColor"}),
      Plot.ruleX([0]),
    ],
  });
  const legend = (...entries) => {
    const list = document.createElement("ul");
    list.className = "legend";
    for (const [colour, text] of entries) {
      const item = document.createElement("li"), swatch = document.createElement("i");
      swatch.style.background = colour;
      item.append(swatch, text);
      list.append(item);
    }
    return list;
  };
  const whole = (number) => number.toLocaleString("en");

  const charts = {
    epochs(rows, width) {
      const points = rows.map((row) => ({...row, at: new Date(row.written)})).filter((row) => !isNaN(row.at));
      if (!points.length) return [];
      const times = points.map((row) => +row.at);
      const [from, to] = [Math.min(...times), Math.max(...times)], margin = from === to ? 60000 : 0;
      const x = {type: "utc", label: null, ticks: Math.max(2, width / 150), tickFormat: timeTicks(to - from), domain: [from - margin, to + margin]};
      const [seconds, unit] = UNITS.findLast(([least]) => Math.max(...points.map((row) => row.age ?? 0)) >= 2 * least) ?? UNITS[0];
      const tip = (y, text) => Plot.tip(points, Plot.pointerX({x: "at", y, title: text, fill: "var(--paper)"}));
      const taken = points.filter((row) => row.event);
      const upTo = (key, unit) => ({domain: [Math.min(0, ...points.map((row) => row[key] / unit)), Math.max(...points.map((row) => row[key] / unit)) || 1]});
      const size = {width, height: 190, marginBottom: 34, marginLeft: 52, marginRight: 12};
      const dead = points.filter((row) => row.dead > 0);
      return [
        plot({
          ...size, x, ariaLabel: "records of each epoch over time", y: {label: "↑ records per epoch", grid: true, tickFormat: short, nice: true, ticks: 5, ...upTo("records", 1)},
          marks: [
            Plot.ruleX(taken, {x: "at", stroke: "var(--soft)", strokeDasharray: "2,4"}),
            Plot.ruleX(points, {x: "at", y1: 0, y2: "records", stroke: "var(--blue)", strokeWidth: 2}),
            Plot.dot(points, {x: "at", y: "records", fill: "var(--blue)", r: 3}),
            Plot.dot(dead, {x: "at", y: "records", stroke: "var(--red)", symbol: "times", strokeWidth: 2.5, r: 5}),
            Plot.ruleY([0]),
            tip("records", (row) => `epoch ${row.epoch}, ${row.written}\n${whole(row.records)} records, ${row.files} files\n${whole(row.dead)} dead letters`),
          ],
        }),
        legend(["var(--blue)", "records of an epoch"], ["var(--red)", "× with dead letters"], ["var(--soft)", "dotted line: taken over by a new process"]),
        plot({
          ...size, x, ariaLabel: `age of the newest record when each epoch was written, in ${unit}`,
          y: {label: `↑ age of the newest record, ${unit}`, grid: true, nice: true, ticks: 5, ...upTo("age", seconds), transform: (age) => (age === null ? NaN : age / seconds)},
          marks: [
            Plot.line(points, {x: "at", y: "age", stroke: "var(--green)", strokeWidth: 1.5}),
            Plot.dot(points, {x: "at", y: "age", fill: "var(--green)", r: 2.5}),
            Plot.ruleY([0]),
            tip("age", (row) => `epoch ${row.epoch}, ${row.written}\nnewest record ${((row.age ?? NaN) / seconds).toFixed(1)} ${unit} old`),
          ],
        }),
      ];
    },
    run(rows, width) {
      const points = rows.map((row) => ({...row, at: new Date(row.written)}));
      const [from, to] = [+points[0].at, +points[points.length - 1].at], margin = from === to ? 60000 : 0;
      const x = {type: "utc", label: null, ticks: Math.max(2, width / 150), tickFormat: timeTicks(to - from), domain: [from - margin, to + margin]};
      const size = {width, height: 190, marginLeft: 52, marginRight: 12, marginBottom: 34};
      const most = (of) => ({domain: [0, Math.max(...points.map(of)) || 1], nice: true, ticks: 5, grid: true});
      const tip = (y, text) => Plot.tip(points, Plot.pointerX({x: "at", y, title: text, fill: "var(--paper)"}));
      const both = (row) => row.tasks + row.publish;
      return [
        plot({
          ...size, x, ariaLabel: "seconds of each epoch's phases over time", y: {label: "↑ seconds of an epoch", ...most(both)},
          marks: [
            Plot.ruleX(points, {x: "at", y1: 0, y2: "tasks", stroke: "var(--blue)", strokeWidth: 3}),
            Plot.ruleX(points, {x: "at", y1: "tasks", y2: both, stroke: "var(--orange)", strokeWidth: 3}),
            Plot.ruleY([0]),
            tip(both, (row) => `epoch ${row.epoch}, ${row.written}\ntasks ${row.tasks.toFixed(1)} s, publish ${row.publish.toFixed(1)} s`),
          ],
        }),
        legend(["var(--blue)", "tasks: read, decode, write"], ["var(--orange)", "publish: commit, promote, finalise (above the tasks)"]),
        plot({
          ...size, x, ariaLabel: "records left in Kafka after each epoch, of all tables", y: {label: "↑ records left in Kafka", tickFormat: short, ...most((row) => row.lag)},
          marks: [
            Plot.line(points, {x: "at", y: "lag", stroke: "var(--green)", strokeWidth: 1.5}),
            Plot.dot(points, {x: "at", y: "lag", fill: "var(--green)", r: 2.5}),
            Plot.ruleY([0]),
            tip("lag", (row) => `epoch ${row.epoch}, ${row.written}\n${whole(row.lag)} records left in Kafka`),
          ],
        }),
      ];
    },
    partitions: (rows, width) => [
      bars(width, rows, "partition", "files", "files →", "var(--blue)", (row) => `${whole(row.files)} × ${row.mean}`),
    ],
    letters: (rows, width) => [
      bars(width, rows.map((row) => ({...row, label: `${row.reason} (${row.topic})`})), "label", "count", "dead letters →", "var(--red)", (row) => whole(row.count)),
    ],
    lag: (rows, width) => {
      const late = rows.filter((row) => row.lag > 0).sort((a, b) => b.lag - a.lag).slice(0, 20);
      return late.length ? [bars(width, late, "table", "lag", "offsets that wait in Kafka →", "var(--orange)", (row) => whole(row.lag))] : [];
    },
    coverage(rows, width) {
      const parts = rows.flatMap((row) => {
        const first = row.first ?? row.position, end = Math.max(row.end ?? row.position, row.position);
        const low = Math.min(row.start ?? first, first), span = Math.max(end - low, 1);
        const part = (kind, from, to) => ({place: row.place, kind, from: 100 * (from - low) / span, to: 100 * (to - low) / span, offsets: `[${whole(from)}, ${whole(to)})`});
        const gaps = (row.gaps ?? "").split(" ").filter(Boolean).map((gap) => gap.split("-").map(Number));
        return [
          part("before", low, first), part("read", first, row.position), part("waiting", row.position, end),
          ...gaps.filter(([, to]) => to > low).map(([from, to]) => part("gap", Math.max(from, low), Math.min(to, end))),
        ].filter((one) => one.to > one.from);
      });
      const colour = {before: "var(--sky)", read: "var(--blue)", waiting: "var(--orange)", gap: "var(--red)"};
      return [
        plot({
          width, height: 22 * rows.length + 56, marginBottom: 44, marginLeft: Math.min(220, width * 0.4), marginRight: 16, ariaLabel: "share of each topic partition's log that was read",
          x: {label: "share of the log, % →", labelOffset: 40, domain: [0, 100], ticks: 5, grid: true}, y: {label: null, domain: rows.map((row) => row.place)},
          marks: [
            Plot.axisY({label: null, tickSize: 0, lineWidth: Math.min(220, width * 0.4) / 14, textOverflow: "ellipsis-middle"}),
            Plot.barX(parts, {x1: "from", x2: "to", y: "place", fill: (one) => colour[one.kind], stroke: "var(--paper)", strokeWidth: 0.5, insetTop: 3, insetBottom: 3}),
            Plot.tip(parts, Plot.pointer({x1: "from", x2: "to", y: "place", title: (one) => `${one.place} ${one.offsets}: ${one.kind}`, fill: "var(--paper)"})),
          ],
        }),
        legend([colour.before, "read before these epochs, or never wanted"], [colour.read, "read in these epochs"], [colour.waiting, "waits in Kafka"], [colour.gap, "accepted as lost"]),
      ];
    },
  };

  const draw = (figure) => {
    const box = figure.querySelector(".chart");
    box.replaceChildren(...charts[figure.dataset.chart](rowsOf(figure), Math.max(280, box.clientWidth)));
  };
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  for (const figure of figures) {
    draw(figure);
    const numbers = figure.querySelector("details");
    if (numbers && figure.querySelector("svg")) numbers.open = false;
  }
  let width = document.documentElement.clientWidth;
  window.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    figures.forEach(draw);
  });

  const made = document.querySelector("time[datetime]"), age = document.querySelector("#age");
  const tell = () => {
    const minutes = Math.floor((Date.now() - Date.parse(made.dateTime)) / 60000);
    age.textContent = minutes < 1 ? "" : minutes < 120 ? `, ${minutes} min ago` : minutes < 2880 ? `, ${Math.floor(minutes / 60)} h ago` : `, ${Math.floor(minutes / 1440)} days ago`;
  };
  tell();
  setInterval(tell, 60000);
})();
