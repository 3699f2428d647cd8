import AppStore
import Foundation
import Fulfillment
import NIOCore
import NIOPosix
import NamesAndTimes
import Testing

@Suite("The verifyReceipt client's connections under TLS")
struct TransportPoolTests {
    private let request = VerificationRequest(bundleID: "com.example.game", receipt: "TUlJ", sharedSecretSetting: nil)

    @Test("Under TLS the client gets several answers, but none if the server's certificate is for another name")
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

    @Test(
        "If a TLS server sends nothing, a request times out, and the client's shutdown ends a waiting request at once")
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
