import Foundation
import Kafka
import Synchronization

/// Tells how many records no worker has committed. Its consumers live as long as the world, on a thread of their own: to make
/// them for each look cost more than all else that the runner does.
final class LagReader: Sendable {
    private typealias Waiting = CheckedContinuation<Int64?, Never>

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
                let lag = waiting.isEmpty || !isComplete ? nil : try? readers.reduce(0) { try $0 + $1.lag() }
                for one in waiting { one.resume(returning: lag) }
                if isStopped { break }
            }
            for reader in readers { reader.consumer.close() }
        }.start()
    }

    /// Nil where the broker does not say.
    func lag() async -> Int64? {
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

        func lag() throws -> Int64 {
            let committed = try consumer.committed(all, timeoutMilliseconds: 3000)
            return try all.reduce(0) { lag, partition in
                let marks = try consumer.watermarks(partition, timeoutMilliseconds: 3000)
                return lag + marks.high - max(0, committed[partition] ?? 0)
            }
        }
    }
}
