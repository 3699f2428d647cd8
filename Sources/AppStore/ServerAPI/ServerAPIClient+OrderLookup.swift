import Fulfillment

/// The question of `receiptd inspect --apple-order`.
extension ServerAPIClient {
    /// Look Up Order ID: the transactions of an order number, as Apple's mail tells it to the customer. Empty where Apple knows no
    /// such order of this app; refused for what no order number looks like.
    public func lookUpOrder(_ order: String, _ context: StoreQueryContext) async
        -> StoreQueryAnswer<[NotifiedTransaction]>
    {
        await ask(.orderLookup(order, of: context.bundleID), context) { reader, body throws(StoreAnswerReader.Fault) in
            try reader.order(body)
        }
    }
}
