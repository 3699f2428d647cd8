import Fulfillment

/// The request of `receiptd inspect --apple-order`.
extension ServerAPIClient {
    /// Asks Look Up Order ID for the transactions of an order. Apple's mail to the customer has the order's number. The
    /// answer is empty if Apple knows no order of this app with the number. The answer is `refused` if the text does
    /// not look like an order number.
    public func lookUpOrder(_ order: String, _ context: StoreQueryContext) async
        -> StoreQueryAnswer<[NotifiedTransaction]>
    {
        await ask(.orderLookup(order, of: context.bundleID), context) { reader, body throws(StoreAnswerReader.Fault) in
            try reader.order(body)
        }
    }
}
