import Kafka
import PlantedFaults
import Synchronization

/// Plants the bug `PlantedFault.commitAfterRevoke`, which the chaos tests must find: the worker also commits revoked
/// partitions, up to the last record that it took from them. A release build plants nothing.
enum PlantedCommits {
    #if DEBUG
        private static let ends = Mutex<[TopicPartition: Int64]>([:])
    #endif

    @inline(__always)
    static func revoked(_ partition: TopicPartition, end: Int64?) {
        #if DEBUG
            if PlantedFault.commitAfterRevoke.isPlanted { ends.withLock { $0[partition] = end } }
        #endif
    }

    @inline(__always)
    static func add(to due: inout [TopicPartition: CommitMark], besides owned: @autoclosure () -> [TopicPartition]) {
        #if DEBUG
            guard PlantedFault.commitAfterRevoke.isPlanted, !owned().isEmpty else { return }
            for (partition, offset) in ends.withLock({ $0 }) where !owned().contains(partition) {
                due[partition] = CommitMark(offset: offset, metadata: "")
            }
        #endif
    }
}
