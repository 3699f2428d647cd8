import Foundation

/// A socket of this process that listens on a TCP port of this machine.
struct ListeningSocket {
    let descriptor: Int32

    /// Returns all sockets that listen on one of these ports.
    static func all(on ports: Set<UInt16>) -> [ListeningSocket] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap(Int32.init).filter { port(of: $0).map(ports.contains) ?? false }.map(Self.init)
    }

    /// Stops listening, in every process that has the socket. The descriptor then refers to an unconnected socket,
    /// which never becomes readable. So the owner can still poll and close the descriptor.
    ///
    /// A child process has a copy of each descriptor until it executes its program. So if only this process closed the
    /// socket, its port could stay in use for a moment.
    func end() {
        let socket = dup(descriptor)
        let nothing = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        dup2(nothing, descriptor)
        close(nothing)
        shutdown(socket, Int32(SHUT_RDWR))
        close(socket)
    }

    /// Returns the port of a listening socket; nil for another descriptor.
    private static func port(of descriptor: Int32) -> UInt16? {
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens != 0 else { return nil }
        var address = sockaddr_in()
        size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return code == 0 && address.sin_family == AF_INET ? UInt16(bigEndian: address.sin_port) : nil
    }
}
