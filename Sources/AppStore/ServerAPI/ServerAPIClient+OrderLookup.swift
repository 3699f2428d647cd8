import Fulfillment

/// The question of `receiptd inspect --apple-order`.
extension ServerAPIClient {
    /// Asks Look Up Order ID for the transactions of an order number from Apple's mail to the customer. The answer is
    /// empty if Apple knows no such order of this app, and refused if the text does not look like an order number.
    public func lookUpOrder(_ order: String, _ context: StoreQueryContext) async
        -> StoreQueryAnswer<[NotifiedTransaction]>
    {
        await ask(.orderLookup(order, of: context.bundleID), context) { reader, body throws(StoreAnswerReader.Fault) in
            try reader.order(body)
        }
    }
}
