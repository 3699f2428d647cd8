import Fulfillment

/// The requests of `receiptd check`.
extension ServerAPIClient {
    /// Requests a test notification, which Apple sends to the app's address in the environment. Returns the
    /// notification's token, or `refused` with 4040007 if the app has no address.
    public func requestTestNotification(_ context: StoreQueryContext) async -> StoreQueryAnswer<String> {
        await ask(.testNotification(of: context.bundleID), context) { reader, body throws(StoreAnswerReader.Fault) in
            try reader.testNotificationToken(body)
        }
    }

    /// Returns Apple's result of each try to deliver the test notification, such as `SUCCESS` or `TIMED_OUT`.
    public func testNotificationStatus(
        _ token: String, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<[String]> {
        await ask(.testNotificationStatus(token, of: context.bundleID), context) {
            reader, body throws(StoreAnswerReader.Fault) in
            try reader.sendAttempts(body)
        }
    }
}
