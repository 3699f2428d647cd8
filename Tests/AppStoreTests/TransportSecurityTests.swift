import AppStore
import Foundation
import Fulfillment
import NamesAndTimes
import Testing

@Suite("TLS to Apple")
struct TransportSecurityTests {
    private func ask(_ server: SelfSignedServer, caFile: String?) async throws -> AppleAnswer {
        let client = try VerifyReceiptClient(
            settings: AppleSettings(productionURL: server.url, sandboxURL: server.url, caFile: caFile),
            secrets: { _ in nil })
        let answer = await client.verify(
            VerificationRequest(bundleID: "com.example.game", receipt: "TUlJ", sharedSecretSetting: nil))
        await client.shutdown()
        return answer
    }

    @Test("The verifyReceipt client trusts a server only if the server's certificate is under a root of the CA file")
    func roots() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("roots-\(UUID().uuidString).pem")
        try Data(SelfSignedServer.certificatePEM.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try await SelfSignedServer.start()
        #expect(try await ask(server, caFile: file.path) == .refused(.accountNotFound))
        #expect(try await ask(server, caFile: nil) == .trouble(of: .connection))
        try await server.shutdown()
    }
}
