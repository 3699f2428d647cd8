import Foundation

package enum FreePort {
    /// Returns a TCP port of 127.0.0.1 on which nobody listens. The port is below 32768, where the kernel's range for
    /// outgoing connections begins. With a port of that range, a client could connect to itself while the server is
    /// down: the kernel could give the port to the client's own connection.
    package static func find() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            if isFree(UInt16(port)) { return port }
        }
        throw EmbeddedPostgresError(description: "no free port from 20000 to 32000")
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
