import AppStoreSimulation
import ArgumentParser
import Foundation

struct Notification: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: """
            Print the body of an App Store Server Notification. Give the claims of its transaction on standard input, \
            as a JSON object. If standard input is empty, the notification has no transaction.
            """)

    @Option(help: "The folder of the keys and certificates to sign with, such as seeds/signing.")
    var signWith: String

    @Option(help: "REFUND, REVOKE, REFUND_REVERSED, TEST and so on.")
    var type: String

    @Option(help: "INITIAL_BUY, GRACE_PERIOD, UPGRADE, SEATS and so on.")
    var subtype: String?

    @Option(help: "A file with the claims of a subscription's renewal info.")
    var renewal: String?

    @Option(help: "The status of a subscription, 1 to 5.")
    var status: Int?

    @Option(help: "The consumption request reason of a CONSUMPTION_REQUEST.")
    var consumptionRequestReason: String?

    @Option(help: "The notification's UUID; a new one by default.")
    var id: String?

    @Option(help: "The app's bundle id.")
    var bundleID: String

    @Option(help: "The app's Apple id; left out by default.")
    var appAppleID: Int64?

    @Option(help: "Milliseconds since 1970; now by default.")
    var signedDateMs: Int64?

    @Flag(help: "Make a notification of the sandbox.")
    var sandbox = false

    func run() throws {
        let claims = String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
        let isEmpty = claims.allSatisfy(\.isWhitespace)
        guard isEmpty || (try? JSONSerialization.jsonObject(with: Data(claims.utf8))) is [String: Any] else {
            throw ValidationError("standard input is not a JSON object")
        }
        var notification = SimulatedNotification(
            type: type, id: id ?? UUID().uuidString.lowercased(), bundleID: bundleID, appAppleID: appAppleID,
            environment: sandbox ? .sandbox : .production,
            signedDateMilliseconds: signedDateMs ?? Int64(Date().timeIntervalSince1970) * 1000,
            transaction: isEmpty ? nil : claims)
        notification.subtype = subtype
        notification.renewal = try renewal.map { try String(contentsOf: URL(fileURLWithPath: $0), encoding: .utf8) }
        notification.status = status
        notification.consumptionRequestReason = consumptionRequestReason
        print(try SimulatedSigner(folder: signWith).notificationBody(notification))
    }
}
