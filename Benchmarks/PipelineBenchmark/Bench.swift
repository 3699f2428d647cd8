import AppStoreSimulation
import ArgumentParser
import Foundation
import Kafka

/// The whole pipeline on one machine: librdkafka's in-process broker, real PostgreSQL, the simulated App Store in a
/// process of its own, and the worker's release build.
@main
struct Bench: AsyncParsableCommand {
    @Option(help: "The folder of the release build.") var build = ".build/shipped/release"
    @Option(help: "Another program to measure in place of receiptd, with --throughput-only or --mix-only.")
    var worker: String?
    @Option(help: "The folder of the keys that sign receipts.") var signing = "seeds/signing"
    @Option(help: "Apple's latencies in milliseconds, separated by commas.") var latencies = "0,50,250"
    @Option(help: "Prepare submissions for this many seconds, at the highest rate that the concurrency allows.")
    var seconds = 6.0
    @Option(help: "The most submissions of one run.") var most = 40_000
    @Option(help: "The most requests to Apple in flight.") var concurrency = 256
    @Option(help: "A further setting of the worker, as NAME=VALUE. Repeat the option for several settings.") var set:
        [String] = []
    @Flag(help: "Measure only the throughput: no paced run, and no single submissions.") var throughputOnly = false

    @Flag(help: "Send small iOS 6 receipts, which cannot be proven, in place of signed receipts.")
    var plain = false
    @Flag(help: "Measure only the traffic mix and the flood of junk, at 50 ms.") var trafficOnly = false
    @Flag(help: "Measure only the traffic mix, at 50 ms.") var mixOnly = false
    @Option(help: "The honest purchases a second during the flood.") var honestRate = 100.0
    @Option(help: "The number of workers. Each has its own limit of requests in flight.") var replicas = 1
    @Option(help: "The grants that the database has before the run.") var grants = 0
    @Option(help: "The bytes of the event of each of these grants.") var eventBytes = 600
    @Flag(help: "Partition the tables of grants and claims, by deploy/postgres/partition.sql.") var partitioned = false
    @Option(help: "Measure only an even load at these rates a second, separated by commas, at the first latency.")
    var rates: String?
    @Option(
        help: """
            The URI of a superuser's database in a running PostgreSQL of this machine, with --throughput-only or --rates. \
            Without it, each run starts a PostgreSQL. The first run creates the grants of --grants. Each run removes the \
            rows that the run before added. The database's name must begin with \(BenchDatabase.keptName).
            """)
    var database: String?
    @Option(
        help:
            "The folder of a second release build. The runs alternate, and the ratios of the first to the second are printed."
    )
    var against: String?
    @Option(help: "The runs of each build, with --against.") var pairs = 3
    @Option(help: "Measure only the cost of an idle worker, for this many seconds.") var idle: Double?

    func validate() throws {
        if worker != nil, trafficOnly || !throughputOnly && !mixOnly {
            throw ValidationError("--worker measures only throughput: it needs --throughput-only or --mix-only")
        }
        if against != nil, trafficOnly || mixOnly || idle != nil || worker != nil {
            throw ValidationError("--against compares throughput and rates of two builds of receiptd")
        }
        if database != nil, trafficOnly || mixOnly || idle != nil || rates == nil && !throughputOnly {
            throw ValidationError("--database is for --throughput-only and --rates")
        }
        guard pairs >= 1 else { throw ValidationError("--pairs begins with 1") }
    }

    func run() async throws {
        if let idle { return print(try idleRun.measureIdle(seconds: idle)) }
        if mixOnly { return print(try mixRun.measureMix()) }
        if let rates { return try measure(rates: rates, replicas: replicas) }
        if !trafficOnly { try measureLatencies() }
        if trafficOnly || !throughputOnly && against == nil { try measureTraffic() }
        guard !trafficOnly, !throughputOnly, against == nil else { return }
        for replicas in [1, 4] { try measure(rates: "250,1000", replicas: replicas) }
        print(try idleRun.measureIdle(seconds: 20))
    }

    /// The idle run keeps the default fetch waits and heartbeats. The other runs shorten them for exact latencies and
    /// quick restarts, and so ask the broker 200 times a second.
    private var idleRun: BenchRun {
        BenchRun(
            build: build, worker: worker, signing: signing, latency: 50, concurrency: concurrency, count: 0,
            settings: ["KAFKA_PROPERTIES="] + set, measuresLatency: false)
    }

    /// Measures once and prints the result, or measures both builds in turn and prints the ratios.
    private func report(
        _ run: BenchRun, _ measure: (BenchRun) throws -> (figures: BenchFigures, text: String)
    ) throws {
        guard let against else { return print(try measure(run).text) }
        var comparison = BenchComparison()
        var other = run
        other.build = against
        try comparison.run(pairs: pairs) { isOurs in
            let (figures, text) = try measure(isOurs ? run : other)
            print("\(isOurs ? "first" : "other"): \(text)")
            return figures
        }
        print("first to other, by pairs:\n\(comparison.text)")
    }

    private var mixRun: BenchRun {
        BenchRun(
            build: build, worker: worker, signing: signing, latency: 50, concurrency: concurrency,
            count: min(most, 30_000), settings: set, measuresLatency: false)
    }

    private func measureTraffic() throws {
        print(try ProofCost(signing: signing).measure())
        print(try mixRun.measureMix())
        print(try mixRun.measureFlood(honestRate: honestRate))
    }

    private var databaseOptions: BenchDatabase.Options {
        BenchDatabase.Options(uri: database, grants: grants, eventBytes: eventBytes, isPartitioned: partitioned)
    }

    private func measure(rates: String, replicas: Int) throws {
        print("per s | replicas | latency ms | worker CPU s/1,000 | PostgreSQL CPU s/1,000 | peak MB | p50 ms | p99 ms")
        for text in rates.split(separator: ",") {
            guard let rate = Double(text), rate >= 1 else { throw ValidationError("\(text) is no rate") }
            var run = BenchRun(
                build: build, worker: worker, signing: signing,
                latency: latencies.split(separator: ",").first.flatMap { Double($0) } ?? 0, concurrency: concurrency,
                count: 0, settings: set, measuresLatency: false)
            run.replicas = replicas
            run.database = databaseOptions
            try report(run) { try $0.measure(rate: rate, seconds: seconds) }
        }
    }

    private func measureLatencies() throws {
        print(
            "latency ms | submissions/s | of ceiling | worker CPU s/1,000 | PostgreSQL CPU s/1,000 | peak MB | p50 ms | p99 ms"
        )
        for text in latencies.split(separator: ",") {
            guard let latency = Double(text) else { throw ValidationError("\(text) is no number") }
            var run = BenchRun(
                build: build, worker: worker, signing: signing, latency: latency, concurrency: concurrency,
                count: count(latency), settings: set, measuresLatency: !throughputOnly,
                kind: plain ? .plain : .genuine)
            run.replicas = replicas
            run.database = databaseOptions
            try report(run) { try $0.measure() }
        }
    }

    /// Returns the number of submissions that keep the workers busy for `seconds`; at most `most`, because the
    /// in-process broker drops old records.
    private func count(_ latency: Double) -> Int {
        let ceiling = latency > 0 ? Double(concurrency) / latency * 1000 : 12_000
        return min(most, Int(ceiling * seconds))
    }
}
