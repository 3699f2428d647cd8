import AppStore
import Foundation
import Fulfillment
import NIOCore
import NIOPosix
import NamesAndTimes
import Testing

@Suite("Connections under TLS")
struct TransportPoolTests {
    private let request = VerificationRequest(bundleID: "com.example.game", receipt: "TUlJ", sharedSecretSetting: nil)

    @Test("A TLS connection serves several requests, but none if the certificate is for another name")
    func names() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("roots-\(UUID().uuidString).pem")
        try Data(SelfSignedServer.certificatePEM.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try await SelfSignedServer.start()
        let address = server.url.replacing("localhost", with: "127.0.0.1")
        for (url, expected) in [
            (server.url, AppleAnswer.refused(.accountNotFound)), (address, .trouble(of: .connection)),
        ] {
            let client = try VerifyReceiptClient(
                settings: AppleSettings(productionURL: url, sandboxURL: url, caFile: file.path), secrets: { _ in nil })
            for _ in 0..<3 { #expect(await client.verify(request) == expected) }
            await client.shutdown()
        }
        try await server.shutdown()
    }

    @Test("If a TLS server sends nothing, the request times out, and a shutdown ends a waiting request immediately")
    func silence() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (accepted, accept) = AsyncStream<Void>.makeStream()
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                accept.yield()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let url = "https://localhost:\(listener.localAddress?.port ?? 0)/"
        let hasty = try VerifyReceiptClient(
            settings: AppleSettings(productionURL: url, sandboxURL: url, timeoutSeconds: 0.2), secrets: { _ in nil })
        #expect(await hasty.verify(request) == .trouble(of: .timeout))
        await hasty.shutdown()

        var connections = accepted.makeAsyncIterator()
        await connections.next()
        let patient = try VerifyReceiptClient(
            settings: AppleSettings(productionURL: url, sandboxURL: url, timeoutSeconds: 3600), secrets: { _ in nil })
        async let answer = patient.verify(request)
        await connections.next()
        await patient.shutdown()
        #expect(await answer == .trouble(of: .connection))
        try await group.shutdownGracefully()
    }
}
