import Fulfillment

/// The questions of `receiptd check`.
extension ServerAPIClient {
    /// Request a Test Notification: Apple sends one to the app's address in the environment. Returns the token that
    /// identifies the notification; refused with 4040007 if there is no address.
    public func requestTestNotification(_ context: StoreQueryContext) async -> StoreQueryAnswer<String> {
        await ask(.testNotification(of: context.bundleID), context) { reader, body throws(StoreAnswerReader.Fault) in
            try reader.testNotificationToken(body)
        }
    }

    /// Get Test Notification Status: returns Apple's word for each try to deliver it, such as `SUCCESS` or `TIMED_OUT`.
    public func testNotificationStatus(
        _ token: String, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<[String]> {
        await ask(.testNotificationStatus(token, of: context.bundleID), context) {
            reader, body throws(StoreAnswerReader.Fault) in
            try reader.sendAttempts(body)
        }
    }
}
