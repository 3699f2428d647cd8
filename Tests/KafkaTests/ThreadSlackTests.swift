import Foundation
import Testing

@testable import Kafka

@Suite("The timer slack of librdkafka's threads")
struct ThreadSlackTests {
    /// Returns the timer slack of this process's threads with this name, in nanoseconds. Returns nil if the kernel does
    /// not show a thread's slack to other threads.
    private static func slacks(ofThreads name: String) -> [UInt]? {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        var found: [UInt] = []
        for thread in threads {
            let comm = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            guard let comm, comm.hasPrefix(name) else { continue }
            guard let text = try? String(contentsOfFile: "/proc/\(thread)/timerslack_ns", encoding: .utf8) else {
                // The thread has ended meanwhile.
                if !FileManager.default.fileExists(atPath: "/proc/self/task/\(thread)") { continue }
                return nil
            }
            if let slack = UInt(text.trimmingCharacters(in: .whitespacesAndNewlines)) { found.append(slack) }
        }
        return found
    }

    private static var isTold: Bool {
        (try? String(contentsOfFile: "/proc/1/timerslack_ns", encoding: .utf8)) != nil
    }

    @Test(
        "the Kafka client raises the timer slack of librdkafka's main thread, but not of librdkafka's broker threads",
        .enabled(if: isTold, "the kernel tells of other threads only whoever may change them"))
    func slack() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        try await blocking {
            let consumer = try KafkaConsumer(properties: consumerProperties(cluster), log: quiet)
            defer { consumer.abandon() }
            try consumer.assign([TopicPartition(topic: "t", partition: 0): 0])
            // The client fetches, so the main thread has started its broker threads.
            _ = try consumer.metadata(timeoutMilliseconds: 5_000)
            let main = try #require(Self.slacks(ofThreads: "rdk:main"))
            #expect(main.contains(ThreadSlack.mainNanoseconds), "\(main)")
            let brokers = try #require(Self.slacks(ofThreads: "rdk:broker"))
            #expect(!brokers.isEmpty && !brokers.contains(ThreadSlack.mainNanoseconds), "\(brokers)")
        }
    }
}
