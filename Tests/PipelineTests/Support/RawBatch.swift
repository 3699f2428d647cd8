import Foundation
import Kafka

/// A record batch of version 2 (https://kafka.apache.org/documentation/#recordbatch) whose records are any bytes.
/// librdkafka's in-process broker stores the records without a check.
struct RawBatch {
    enum Codec: Int16 { case none, gzip, snappy, lz4, zstd }

    let codec: Codec
    let count: Int32
    let records: [UInt8]

    private var bytes: [UInt8] {
        var behindTheLength: [UInt8] = []
        func add(_ value: some FixedWidthInteger) { behindTheLength.append(bigEndian: value) }
        add(Int32(0))  // partition leader epoch
        add(Int8(2))  // magic
        add(Int32(0))  // CRC, which librdkafka checks only if check.crcs is true
        add(codec.rawValue)
        add(count - 1)  // last offset delta
        add(Int64(1_000))
        add(Int64(1_000))
        add(Int64(-1))  // producer
        add(Int16(-1))
        add(Int32(-1))
        add(count)
        var batch: [UInt8] = []
        batch.append(bigEndian: Int64(0))
        batch.append(bigEndian: Int32(behindTheLength.count + records.count))
        return batch + behindTheLength + records
    }

    /// Sends the batch to the partition, and blocks until the broker has answered. Throws `Refused` if the answer has
    /// an error.
    func produce(to partition: TopicPartition, bootstrapServers: String) throws {
        var request: [UInt8] = []
        func add(_ value: some FixedWidthInteger) { request.append(bigEndian: value) }
        func add(_ text: String) {
            add(Int16(text.utf8.count))
            request.append(contentsOf: text.utf8)
        }
        add(Int16(0))  // Produce
        add(Int16(3))
        add(Int32(1))
        add("raw")
        add(Int16(-1))  // no transaction
        add(Int16(-1))
        add(Int32(5_000))
        add(Int32(1))
        add(partition.topic)
        add(Int32(1))
        add(partition.partition)
        add(Int32(bytes.count))
        request += bytes
        let answer = try exchange(request, with: bootstrapServers)
        // The error code follows the correlation id, one topic with its name, and one partition with its number.
        let place = 4 + 4 + 2 + partition.topic.utf8.count + 4 + 4
        guard answer.count > place + 1, answer[place] == 0, answer[place + 1] == 0 else {
            throw Refused(answer: answer)
        }
    }

    struct Refused: Error { let answer: [UInt8] }

    private func exchange(_ request: [UInt8], with server: String) throws -> [UInt8] {
        let parts = server.split(separator: ":")
        guard let port = parts.last.flatMap({ UInt16($0) }) else { throw Refused(answer: []) }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard connected == 0 else { throw Refused(answer: []) }
        var framed: [UInt8] = []
        framed.append(bigEndian: Int32(request.count))
        framed += request
        var sent = 0
        while sent < framed.count {
            let count = framed[sent...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Refused(answer: []) }
            sent += count
        }
        let length = try read(4, from: descriptor).reduce(0) { $0 << 8 | Int($1) }
        return try read(length, from: descriptor)
    }

    private func read(_ count: Int, from descriptor: Int32) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes[done...].withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
            guard got > 0 else { throw Refused(answer: []) }
            done += got
        }
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
