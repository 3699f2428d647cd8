import Foundation
import Kafka
import Synchronization

/// Reads the offsets that workers have committed, and the number of records after them. The consumers run on their own
/// thread, and live as long as the world. Creating new consumers for each look would take longer than the rest of the
/// runner.
final class LagReader: Sendable {
    struct Look: Sendable {
        /// The number of records after the group's committed offsets.
        var lag: Int64 = 0
        var committed: [TopicPartition: Int64] = [:]
    }

    private typealias Waiting = CheckedContinuation<Look?, Never>

    private struct State {
        var waiting: [Waiting] = []
        var isStopped = false
    }

    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)

    /// - Parameter groups: the consumer group of each topic.
    init(groups: [String: String], partitions: Int32, properties: KafkaProperties) {
        Thread { [self] in
            let readers = groups.sorted { $0.key < $1.key }.compactMap { topic, group -> Reader? in
                var own = properties
                own["group.id"] = group
                return (try? KafkaConsumer(properties: own, log: { _ in })).map {
                    Reader(
                        consumer: $0, all: (0..<partitions).map { TopicPartition(topic: topic, partition: $0) })
                }
            }
            while true {
                bell.wait()
                let (waiting, isStopped) = state.withLock { state in
                    defer { state.waiting = [] }
                    return (state.waiting, state.isStopped)
                }
                let isComplete = readers.count == groups.count && !isStopped
                let look =
                    waiting.isEmpty || !isComplete ? nil : try? readers.reduce(into: Look()) { try $1.add(to: &$0) }
                for one in waiting { one.resume(returning: look) }
                if isStopped { break }
            }
            for reader in readers { reader.consumer.close() }
        }.start()
    }

    /// Returns the offsets and the lag; nil if the broker does not answer.
    func look() async -> Look? {
        await withCheckedContinuation { waiting in
            let isStopped = state.withLock { state in
                if !state.isStopped { state.waiting.append(waiting) }
                return state.isStopped
            }
            if isStopped { waiting.resume(returning: nil) } else { bell.signal() }
        }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        bell.signal()
    }

    private struct Reader {
        let consumer: KafkaConsumer
        let all: [TopicPartition]

        func add(to look: inout Look) throws {
            let committed = try consumer.committed(all, timeoutMilliseconds: 3000)
            look.committed.merge(committed) { $1 }
            for partition in all {
                let marks = try consumer.watermarks(partition, timeoutMilliseconds: 3000)
                look.lag += marks.high - max(0, committed[partition] ?? 0)
            }
        }
    }
}
