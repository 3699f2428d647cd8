import Foundation
import Synchronization

/// A TCP proxy before PostgreSQL, which counts round trips. It can let a COMMIT through and cut the connection before
/// the server's answer. The client then cannot know whether PostgreSQL committed.
final class DatabaseProxy: Sendable {
    let port: UInt16
    private let server: UInt16
    private let listener: Int32
    private let toCut = Atomic<Int>(0)
    private let cuts = Atomic<Int>(0)
    private let answers = Atomic<Int>(0)

    /// The number of ReadyForQuery messages from the server. ReadyForQuery ends each round trip, also in a pipeline.
    var roundTrips: Int { answers.load(ordering: .sequentiallyConsistent) }

    /// The number of answers that were cut off so far.
    var cutCount: Int { cuts.load(ordering: .sequentiallyConsistent) }

    init(server: UInt16) throws {
        self.server = server
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        Thread { [self] in accept() }.start()
    }

    func cutNextCommits(_ count: Int) { toCut.store(count, ordering: .sequentiallyConsistent) }

    func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func accept() {
        while true {
            let client = Foundation.accept(listener, nil, nil)
            if client < 0 { return }
            let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = Self.loopback(server)
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            let state = ConnectionState()
            Thread { [self] in pump(from: client, to: upstream, state) }.start()
            Thread { [self] in pumpBack(from: upstream, to: client, state) }.start()
        }
    }

    private final class ConnectionState: Sendable {
        let isCutDue = Atomic<Bool>(false)
    }

    private func pump(from source: Int32, to sink: Int32, _ state: ConnectionState) {
        let commit = Array("COMMIT".utf8)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(source, &buffer, buffer.count)
            if count <= 0 { break }
            // A simple query is 'Q', four bytes of length, and the text.
            if buffer[0] == UInt8(ascii: "Q"), buffer[5..<min(count, 11)].elementsEqual(commit),
                toCut.load(ordering: .sequentiallyConsistent) > 0
            {
                toCut.subtract(1, ordering: .sequentiallyConsistent)
                state.isCutDue.store(true, ordering: .sequentiallyConsistent)
            }
            _ = write(sink, buffer, count)
        }
        shutdown(sink, Int32(SHUT_RDWR))
    }

    private func pumpBack(from source: Int32, to sink: Int32, _ state: ConnectionState) {
        // ReadyForQuery is the type, four bytes of length, and one byte of state.
        let readyForQuery = [UInt8(ascii: "Z"), 0, 0, 0, 5]
        var tail: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(source, &buffer, buffer.count)
            if count <= 0 { break }
            tail += buffer[..<count]
            answers.add(tail.ranges(of: readyForQuery).count, ordering: .sequentiallyConsistent)
            tail = Array(tail.suffix(readyForQuery.count - 1))
            if state.isCutDue.load(ordering: .sequentiallyConsistent) {
                cuts.add(1, ordering: .sequentiallyConsistent)
                break
            }
            _ = send(sink, buffer, count, Int32(MSG_NOSIGNAL))
        }
        shutdown(sink, Int32(SHUT_RDWR))
        shutdown(source, Int32(SHUT_RDWR))
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
