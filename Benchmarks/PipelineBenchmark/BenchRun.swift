import AppStoreSimulation
import Foundation
import Kafka

/// One run: the workers process a backlog, then a load at an even rate, then single submissions.
struct BenchRun {
    static let partitions: Int32 = 64

    let latency: Double
    let concurrency: Int
    let count: Int
    let measuresLatency: Bool
    /// The kind of submissions in the backlog.
    let kind: Traffic.Kind
    var replicas = 1
    var database = BenchDatabase.Options()
    var build: String
    private let worker: String?
    private let signing: String
    private let settings: [String]

    init(
        build: String, worker: String?, signing: String, latency: Double, concurrency: Int, count: Int,
        settings: [String], measuresLatency: Bool, kind: Traffic.Kind = .genuine
    ) {
        self.build = build
        self.worker = worker
        self.signing = signing
        self.latency = latency
        self.concurrency = concurrency
        self.count = count
        self.settings = settings
        self.measuresLatency = measuresLatency
        self.kind = kind
    }

    func measure() throws -> (figures: BenchFigures, text: String) {
        let parts = try BenchParts(
            build: build, worker: worker, signing: signing, latency: latency, concurrency: concurrency,
            settings: settings, database: database)
        defer { parts.stop() }
        try parts.submit(Array(repeating: kind, count: count), prefix: "backlog")
        try parts.startWorkers(replicas)
        try parts.waitForEvents(1)
        let usage = parts.usage()
        let startCount = parts.outcomes.count
        try parts.waitForEvents(count)
        let end = parts.usage()
        let counted = Double(count - startCount)
        let rate = Double(count) / parts.outcomes.seconds
        let ceiling = latency > 0 ? Double(concurrency * replicas) / latency * 1000 : nil
        var figures = BenchFigures(from: usage, to: end, submissions: counted)
        figures.throughput = rate
        var lines: [String] = []
        if measuresLatency {
            figures.take(try parts.pacedLatencies(rate: min(rate / 2, 1000), count: 3000))
            let single = try parts.singleLatencies(count: 20)
            lines.append(
                "  single submissions on the idle worker: median \(format(single[single.count / 2], 1)) ms, "
                    + "of which Apple \(format(latency, 0)) ms")
        }
        lines.append("  " + parts.stageShares())
        let columns = [format(latency, 0), format(rate, 0), ceiling.map { format(100 * rate / $0, 0) + " %" } ?? "-"]
        let row = (columns + costs(figures)).joined(separator: " | ")
        return (figures, ([row] + lines).joined(separator: "\n"))
    }

    /// Measures a load at an even, everyday rate.
    func measure(rate: Double, seconds: Double) throws -> (figures: BenchFigures, text: String) {
        let parts = try BenchParts(
            build: build, worker: worker, signing: signing, latency: latency, concurrency: concurrency,
            settings: settings, database: database)
        defer { parts.stop() }
        try parts.startWorkers(replicas)
        // Before the measurement the workers join the group, and the adaptive limit grows.
        _ = try parts.pacedLatencies(rate: rate, count: Int(rate) * 2)
        let before = parts.usage()
        let count = Int(rate * seconds)
        let paced = try parts.pacedLatencies(rate: rate, count: count)
        var figures = BenchFigures(from: before, to: parts.usage(), submissions: Double(count))
        figures.take(paced)
        let columns = [format(rate, 0), String(replicas), format(latency, 0)] + costs(figures)
        return (figures, columns.joined(separator: " | "))
    }

    private func costs(_ figures: BenchFigures) -> [String] {
        [
            format(figures.workerSeconds, 3), format(figures.postgresSeconds, 3), format(figures.peakMemory, 0),
        ] + [figures.median, figures.percentile99].compactMap { $0.map { format($0, 1) } }
    }

    /// Measures the cost of a worker and its database while no record comes.
    func measureIdle(seconds: Double) throws -> String {
        let parts = try BenchParts(
            build: build, worker: worker, signing: signing, latency: latency, concurrency: concurrency,
            settings: settings, database: database)
        defer { parts.stop() }
        try parts.startWorkers()
        _ = try parts.pacedLatencies(rate: 100, count: 200)
        // In these seconds the workers finish the last submissions.
        Thread.sleep(forTimeInterval: 5)
        let (before, transactions) = (parts.usage(), try parts.database.transactions())
        Thread.sleep(forTimeInterval: seconds)
        let after = parts.usage()
        // A session reports its counts about once a second, so both counts may lack the last second.
        let asked = Double(try parts.database.transactions() - transactions)
        let (worker, postgres) = (after.worker - before.worker, after.postgres - before.postgres)
        return "idle: the worker takes \(format(worker / seconds * 1000, 1)) ms of a processor each second and "
            + "\(format(Double(after.memory) / 1_048_576, 0)) MB; PostgreSQL \(format(postgres / seconds * 1000, 1)) ms, "
            + "for \(format(asked / seconds, 1)) transactions each second"
    }

    /// Compares two loads: the mix of traffic that operators see, and genuine purchases alone.
    func measureMix() throws -> String {
        let genuine = try throughput(of: .genuine)
        let mixed = try throughput(of: nil)
        return "the mix: \(format(mixed.rate, 0))/s, \(format(mixed.rate / genuine.rate, 2)) times the "
            + "\(format(genuine.rate, 0))/s of genuine purchases alone; for each submission, "
            + "\(mixed.asked.map { format($0, 3) } ?? "uncounted") requests to Apple and "
            + "\(format(mixed.cpu, 3)) ms of the worker's CPU"
    }

    /// - Returns: `asked` is the number of requests to Apple for each submission; nil if the worker is not receiptd,
    ///   whose metrics have the number.
    private func throughput(of kind: Traffic.Kind?) throws -> (rate: Double, asked: Double?, cpu: Double) {
        let parts = try BenchParts(
            build: build, worker: worker, signing: signing, latency: latency, concurrency: concurrency,
            settings: settings)
        defer { parts.stop() }
        try parts.submit(kind.map { Array(repeating: $0, count: count) } ?? Traffic.mix(count), prefix: "backlog")
        try parts.startWorkers()
        // A doubtful submission mostly waits, so the rate leaves doubtful submissions out.
        try parts.waitForEvents(count - (kind == nil ? count * Traffic.Kind.unverifiable.share / 500 : 0))
        let rate = Double(parts.outcomes.count) / parts.outcomes.seconds
        try parts.waitForEvents(count)
        let asked = worker == nil ? try parts.appleRequests() / Double(count) : nil
        return (rate, asked, parts.usage().worker / Double(count) * 1000)
    }

    /// Measures honest purchases at an even rate: alone, and beside ten times as many submissions, 95 % of them junk.
    func measureFlood(honestRate: Double) throws -> String {
        let parts = try BenchParts(
            build: build, worker: worker, signing: signing, latency: latency, concurrency: concurrency,
            settings: settings)
        defer { parts.stop() }
        try parts.startWorkers()
        // The adaptive limit starts low, and grows before the measurement.
        _ = try parts.pacedLatencies(rate: honestRate * 2, count: 1000)
        let alone = try parts.pacedLatencies(rate: honestRate, count: 1500)
        let flooded = try parts.pacedLatencies(rate: honestRate, count: 1500, flood: 10)
        func text(_ sorted: [Double]) -> String {
            "median \(format(sorted[sorted.count / 2], 0)) ms, 99th percentile \(format(sorted[sorted.count * 99 / 100], 0)) ms"
        }
        return
            "honest purchases at \(format(honestRate, 0))/s alone: \(text(alone)); within the flood: \(text(flooded))"
    }

    private func format(_ value: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", value)
    }
}

extension BenchFigures {
    /// - Parameter submissions: the number of submissions that the workers decided between `start` and `end`.
    init(from start: BenchParts.Usage, to end: BenchParts.Usage, submissions: Double) {
        workerSeconds = (end.worker - start.worker) / submissions * 1000
        postgresSeconds = (end.postgres - start.postgres) / submissions * 1000
        peakMemory = Double(end.peakMemory) / 1_048_576
    }
}
