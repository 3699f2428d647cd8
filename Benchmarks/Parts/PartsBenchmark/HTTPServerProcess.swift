import AppStoreSimulation
import Foundation

/// The simulated App Store in a process of its own, so that the clients' processor time does not include it.
struct HTTPServerProcess {
    private let process = Process()
    let url: String

    init() throws {
        let portFile = FileManager.default.temporaryDirectory.appendingPathComponent("port-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: portFile) }
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--serve", portFile.path]
        try process.run()
        for _ in 0..<1000 {
            if let port = try? String(contentsOf: portFile, encoding: .utf8), !port.isEmpty {
                url = "http://127.0.0.1:\(port)/production/verifyReceipt"
                return
            }
            Thread.sleep(forTimeInterval: 0.01)
        }
        throw WrongResult()
    }

    func end() { process.terminate() }

    static func run(portFile: String) async throws {
        let store = try await AppStoreSimulation.start()
        try String(store.port).write(toFile: portFile, atomically: true, encoding: .utf8)
        while !Task.isCancelled { try await Task.sleep(for: .seconds(3600)) }
    }
}
