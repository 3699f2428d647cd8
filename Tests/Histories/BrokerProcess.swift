import EmbeddedPostgres
import Foundation
import Kafka
import Synchronization

/// Runs librdkafka's in-process broker in a separate process. If a failed assertion in librdkafka ends that process,
/// only one history is lost.
final class BrokerProcess: Sendable {
    let bootstrapServers: String
    private let process: ChildProcess
    private let log: String

    var isRunning: Bool { process.isRunning }

    /// Starts the process, and blocks until the broker listens. Throws a fault with the broker's log if that takes
    /// longer than 30 s.
    init(log: String) throws {
        self.log = log
        var start = ChildProcess.Start([Histories.path, "--broker", ""], log: log)
        start.environment = ProcessInfo.processInfo.environment
        // A crashed process would keep its connections open while it prints a backtrace.
        start.environment["SWIFT_BACKTRACE"] = "enable=no"
        start.folder = nil
        start.endsWithUs = true
        process = try ChildProcess(start)
        let end = Date.now.addingTimeInterval(30)
        while Date.now < end, process.isRunning {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            let line = text.split(separator: "\n").first { $0.hasPrefix("brokers ") }
            if let line, text.contains("\n") {
                bootstrapServers = String(line.dropFirst("brokers ".count))
                return
            }
            Thread.sleep(forTimeInterval: 0.02)
        }
        process.send(SIGKILL)
        throw History.Fault(
            description: "the broker did not start: \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
    }

    func setDown() { process.send(SIGUSR1) }
    func setUp() { process.send(SIGUSR2) }

    func close() {
        process.send(SIGKILL)
        _ = process.wait()
        try? FileManager.default.removeItem(atPath: log)
    }

    private static let isWantedDown = Atomic(false)

    /// Runs the broker in this process, and never returns.
    static func serve(prefix: String) async throws {
        signal(SIGUSR1) { _ in BrokerProcess.isWantedDown.store(true, ordering: .relaxed) }
        signal(SIGUSR2) { _ in BrokerProcess.isWantedDown.store(false, ordering: .relaxed) }
        let topics = Dictionary(uniqueKeysWithValues: World.topics.map { (prefix + $0, World.partitions) })
        let cluster = try MockCluster(brokerCount: 1, topics: topics)
        say("brokers \(cluster.bootstrapServers)")
        var isDown = false
        while true {
            try await Task.sleep(for: .milliseconds(20))
            let wanted = isWantedDown.load(ordering: .relaxed)
            guard wanted != isDown else { continue }
            isDown = wanted
            if isDown { cluster.setBrokerDown(1) } else { cluster.setBrokerUp(1) }
        }
    }
}
