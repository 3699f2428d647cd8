import Crypto
import Foundation
import NIOCore
import Synchronization
import Testing

@testable import AppStoreSimulation

/// A store with one app, and helpers for tests.
enum StoreBed {
    static let bundle = "com.example.castle"
    static let day: Int64 = 86_400_000
    /// 2026-05-01T10:00:00Z.
    static let start: Int64 = 1_777_629_600_000
    static let lena = SimulatedAccount("lena", bundleID: bundle)
    static let token = "0f2a7c1e-5d11-4c39-9a54-0c6a3b9e2d10"

    static let app = SimulatedApp(
        bundleID: bundle, appAppleID: 1_450_000_001,
        products: [
            SimulatedProduct(id: "gems", price: SimulatedPrice(milliunits: 990, currency: "EUR", storefront: "DEU")),
            SimulatedProduct(id: "builder", kind: .nonConsumable),
            SimulatedProduct(
                id: "vip", plan: SimulatedPlan(groupID: "7", periodMilliseconds: 30 * day, graceMilliseconds: 6 * day)),
            SimulatedProduct(id: "vip.gold", plan: SimulatedPlan(groupID: "7", periodMilliseconds: 30 * day)),
        ])

    static func store() -> SimulatedStore {
        var store = SimulatedStore(seed: 7)
        store.add(app)
        store.now = start
        return store
    }

    static let signing = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("seeds/signing")

    /// Runs a simulation of the store on a clock that only the test moves.
    static func run(
        notified: (@Sendable (SignedNotification) -> Void)? = nil,
        _ use: (AppStoreSimulation, ManualClock) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        var options = AppStoreSimulation.Options()
        options.signer = try SimulatedSigner(folder: signing.path)
        options.notified = notified
        options.now = { clock.now }
        options.logCapacity = 100
        try await withApple(options: options) { apple in
            apple.inStore { $0.add(app) }
            try await use(apple, clock)
        }
    }

    final class ManualClock: Sendable {
        private let time = Atomic(StoreBed.start)
        var now: Int64 { time.load(ordering: .relaxed) }
        func pass(days: Int64) { time.add(days * day, ordering: .relaxed) }
    }

    /// Returns the claims of a JWS after a check of its signature with the key of the seeds' leaf.
    static func claims(_ jws: String) throws -> [String: Any] {
        let parts = jws.split(separator: ".").map(String.init)
        let key = try P256.Signing.PrivateKey(
            pemRepresentation: String(
                contentsOf: signing.appendingPathComponent("transaction-leaf-key.pem"), encoding: .utf8))
        let (body, bytes) = (try #require(Self.bytes(parts[1])), try #require(Self.bytes(parts[2])))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes)
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        return try #require(JSONSerialization.jsonObject(with: body) as? [String: Any])
    }

    private static func bytes(_ segment: String) -> Data? {
        let standard = segment.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }

    /// Returns a token whose claims are valid at `now`. The simulation does not check the signature.
    static func bearer(now: Int64, bundle: String = bundle) -> String {
        func url(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        let claims = """
            {"iss":"i","iat":\(now / 1000),"exp":\(now / 1000 + 1200),"aud":"appstoreconnect-v1","bid":"\(bundle)"}
            """
        return "Bearer \(url(#"{"alg":"ES256","kid":"K","typ":"JWT"}"#)).\(url(claims)).c2ln"
    }
}

extension AppStoreSimulation {
    /// Sends one request to the App Store Server API over a new connection.
    func call(
        _ method: String, _ path: String, _ body: String = "", at clock: StoreBed.ManualClock,
        bundle: String = StoreBed.bundle
    ) async throws -> WireClient.Outcome {
        let client = try await WireClient.connect(port: port)
        try await client.send(
            """
            \(method) /production/inApps/\(path) HTTP/1.1\r\nHost: a\r\nAuthorization: \
            \(StoreBed.bearer(now: clock.now, bundle: bundle))\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
            """)
        return try await client.next()
    }
}

extension WireClient.Outcome {
    var errorCode: Int? { object["errorCode"] as? Int }
}
