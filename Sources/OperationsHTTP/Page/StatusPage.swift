import Fulfillment
import Operations

/// The worker's page, with tiles, charts and tables. The HTML shows everything without a script. The script only
/// reloads the page.
struct StatusPage {
    /// The names and values with which the page identifies a worker, such as its replica and its group.
    typealias About = [(name: String, value: String)]

    let report: StatusReport
    let now: TrafficHistory.Sample
    /// The earlier sample for the rates; nil if the process has just started.
    let before: TrafficHistory.Sample?
    let bins: [TrafficHistory.Bin]
    let appleBounds: [Double]
    let about: About

    var html: String {
        PageShell.html(
            version: report.version,
            main: """
                \(head)\(problems)
                <section class="tiles" aria-label="Now">\(tiles)</section>
                <section class="charts">\(traffic)\(latency)</section>
                <section class="tables">\(outcomes)\(apple)\(partitions)</section>
                """)
    }

    private var head: String {
        let (state, kind) =
            if !report.live {
                ("Stuck", "bad")
            } else if !report.ready {
                ("Not ready", "bad")
            } else if report.paused {
                ("Ready, paused", "warn")
            } else if !report.notes.isEmpty {
                ("Ready, with failures", "warn")
            } else {
                ("Ready", "good")
            }
        let facts = about.map { "<div><dt>\(escaped($0.name))</dt><dd>\(escaped($0.value))</dd></div>" }.joined()
        return "<p id=\"state\" class=\"state \(kind)\" role=\"status\">\(state)</p><dl class=\"about\">\(facts)</dl>"
    }

    private var problems: String {
        let apple =
            report.apple.isDown
            ? ["Apple is down for every app: submissions wait, and Kafka keeps the backlog"]
            : report.apple.openCircuits.map { "\($0): the worker holds requests back after failures" }
        let told = report.problems + report.notes + report.apple.outages + apple
        guard !told.isEmpty else { return "" }
        return "<ul class=\"problems\">\(told.map { "<li>\(escaped($0))</li>" }.joined())</ul>"
    }

    private func escaped(_ text: String) -> String { HTMLText.escaped(text) }

    /// Returns the growth of a count since `before`, per second.
    private func rate(_ count: (TrafficHistory.Sample) -> Int) -> String {
        guard let before, now.seconds > before.seconds else { return "–" }
        return ShownNumber.short(Double(count(now) - count(before)) / (now.seconds - before.seconds))
    }
}

// MARK: - Tiles

extension StatusPage {
    private var tiles: String {
        let requests = now.appleRequests - (before?.appleRequests ?? 0)
        let errors = now.appleErrors - (before?.appleErrors ?? 0)
        let share = requests > 0 ? 100 * Double(errors) / Double(requests) : nil
        var recent = now.apple
        for place in recent.counts.indices { recent.counts[place] -= before?.apple.counts[place] ?? 0 }
        let lag = report.lag
        return [
            tile(
                "Submissions per second", rate(\.submissions),
                ShownNumber.whole(Double(report.submissions)) + " in all"),
            tile(
                "In flight", ShownNumber.whole(report.inFlight),
                ShownNumber.short(report.inFlightBytes / 1_048_576) + " MiB"),
            tile(
                "Consumer lag", ShownNumber.whole(lag.total),
                lag.longest > 0
                    ? "\(ShownNumber.whole(lag.longest)) in \(lag.longestPartition ?? "")"
                    : "\(lag.partitions) partitions"),
            tile(
                "Apple latency", ShownNumber.duration(recent.quantile(0.5, upperBounds: appleBounds)),
                "p95 " + ShownNumber.duration(recent.quantile(0.95, upperBounds: appleBounds))),
            tile(
                "Apple errors", share.map { ShownNumber.short($0) + " %" } ?? "–",
                "\(rate(\.appleRequests)) requests/s, limit \(ShownNumber.whole(report.apple.concurrencyLimit))",
                (share ?? 0) > 5 ? "bad" : ""),
            tile("Parked", ShownNumber.whole(report.parked), "wait for Apple", report.parked > 0 ? "warn" : ""),
            tile("Held", ShownNumber.whole(report.held), "wait for an operator", report.held > 0 ? "warn" : ""),
            tile("Outbox", ShownNumber.whole(report.outboxPending), "decided, not yet published"),
        ].joined()
    }

    private func tile(_ name: String, _ value: String, _ note: String, _ kind: String = "") -> String {
        "<div class=\"tile\"><span>\(name)</span><b class=\"\(kind)\">\(escaped(value))</b><span>\(escaped(note))</span></div>"
    }
}

// MARK: - Charts

extension StatusPage {
    private static let ends = ("15 minutes ago", "now")

    private var traffic: String {
        let series = ShownClass.allCases.enumerated().map { index, kind in
            Chart.Series(
                name: kind.rawValue, style: kind.style,
                values: bins.map { Double($0.classes[index]) / TrafficHistory.binSeconds })
        }
        let chart = Chart.stacked(
            series, title: "Submissions answered per second over the last 15 minutes, by class", ends: Self.ends,
            unit: "per s")
        return "<div><h2>Submissions by class</h2>\(chart)</div>"
    }

    private var latency: String {
        func line(_ name: String, _ style: String, _ share: Double) -> Chart.Series {
            Chart.Series(
                name: name, style: style,
                values: bins.map { $0.apple.quantile(share, upperBounds: appleBounds).map { $0 * 1000 } })
        }
        let chart = Chart.lines(
            [line("p50", "c-p50", 0.5), line("p95", "c-p95", 0.95)],
            title: "Apple's latency over the last 15 minutes in milliseconds: median and 95th percentile",
            ends: Self.ends, unit: "ms")
        return "<div><h2>Apple's latency</h2>\(chart)</div>"
    }
}

// MARK: - Tables

extension StatusPage {
    private var outcomes: String {
        let rows = (report.outcomes + report.deadLetters.filter { $0.count > 0 }).map { row in
            [row.type, row.reason, rate { $0.outcomes[[row.type, row.reason]] ?? 0 }, whole(row.count)]
        }
        return table("Outcomes", ["Type", "Reason", "per s", "Total"], texts: 2, rows)
    }

    private var apple: String {
        let rows = report.apple.results.map { row in
            let key = [row.endpoint, row.environment, row.result]
            return key + [rate { $0.results[key] ?? 0 }, whole(row.count)]
        }
        return table("Apple", ["Endpoint", "Environment", "Result", "per s", "Total"], texts: 3, rows)
    }

    private var partitions: String {
        let rows = report.partitions.map { [$0.topic, $0.partition, ShownNumber.whole($0.lag)] }
        return table("Partitions", ["Topic", "Partition", "Lag"], texts: 1, rows)
    }

    private func whole(_ count: Int) -> String { ShownNumber.whole(Double(count)) }

    /// - Parameter texts: the number of columns with words, which come first. The other columns have numbers.
    private func table(_ name: String, _ heads: [String], texts: Int, _ rows: [[String]]) -> String {
        func cells(_ tag: String, _ cells: [String]) -> String {
            cells.enumerated().map { index, cell in
                "<\(tag)\(index < texts ? "" : " class=\"n\"")>\(escaped(cell))</\(tag)>"
            }.joined()
        }
        let body = rows.map { "<tr>\(cells("td", $0))</tr>" }.joined()
        let shown = rows.isEmpty ? "<tr><td colspan=\"\(heads.count)\">none yet</td></tr>" : body
        return """
            <div><h2>\(name)</h2><table><thead><tr>\(cells("th", heads))</tr></thead><tbody>\(shown)</tbody></table></div>
            """
    }
}
