import CRDKafka
import Foundation

/// A `rd_kafka_topic_partition_list_t` that this struct owns.
struct PartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(_ partitions: some Collection<TopicPartition>) {
        pointer = rd_kafka_topic_partition_list_new(Int32(partitions.count))
        for partition in partitions {
            rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition)
        }
    }

    init(_ offsets: [TopicPartition: Int64]) {
        self.init(offsets.mapValues { CommitMark(offset: $0) })
    }

    init(_ marks: [TopicPartition: CommitMark]) {
        pointer = rd_kafka_topic_partition_list_new(Int32(marks.count))
        for (partition, mark) in marks {
            let element = rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition)
            element?.pointee.offset = mark.offset
            // The list frees `copy` with free(3).
            guard !mark.metadata.isEmpty, let copy = strdup(mark.metadata) else { continue }
            element?.pointee.metadata = UnsafeMutableRawPointer(copy)
            element?.pointee.metadata_size = strlen(copy)
        }
    }

    deinit { rd_kafka_topic_partition_list_destroy(pointer) }

    /// Throws the first error of an element: a call may succeed as a whole and fail for one partition.
    func check() throws(KafkaError) {
        for element in Self.elements(pointer) { try KafkaError.check(element.err) }
    }

    /// The elements' offsets. Leaves out an element with a negative offset, which means no offset or a symbolic offset.
    var offsets: [TopicPartition: Int64] { Self.offsets(pointer) }

    /// The offsets of `offsets`, without the offset of an element with an error.
    var soundOffsets: [TopicPartition: Int64] {
        var offsets: [TopicPartition: Int64] = [:]
        for element in Self.elements(pointer) where element.offset >= 0 && element.err == RD_KAFKA_RESP_ERR_NO_ERROR {
            offsets[TopicPartition(element)] = element.offset
        }
        return offsets
    }

    /// The offsets of `offsets`, each with its metadata.
    var marks: [TopicPartition: CommitMark] {
        var marks: [TopicPartition: CommitMark] = [:]
        for element in Self.elements(pointer) where element.offset >= 0 {
            // A broker's metadata does not end with a NUL.
            let metadata = UnsafeRawBufferPointer(start: element.metadata, count: element.metadata_size)
            marks[TopicPartition(element)] = CommitMark(
                offset: element.offset, metadata: String(decoding: metadata, as: UTF8.self))
        }
        return marks
    }

    static func elements(
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) -> UnsafeMutableBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeMutableBufferPointer(start: list?.pointee.elems, count: Int(list?.pointee.cnt ?? 0))
    }

    static func partitions(
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) -> [TopicPartition] {
        elements(list).map(TopicPartition.init)
    }

    static func offsets(
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) -> [TopicPartition: Int64] {
        var offsets: [TopicPartition: Int64] = [:]
        for element in elements(list) where element.offset >= 0 { offsets[TopicPartition(element)] = element.offset }
        return offsets
    }
}

extension TopicPartition {
    init(_ element: rd_kafka_topic_partition_t) {
        self.init(topic: String(cString: element.topic), partition: element.partition)
    }
}
