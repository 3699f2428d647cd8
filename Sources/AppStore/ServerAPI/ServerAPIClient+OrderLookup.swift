import Fulfillment

/// The question of `receiptd inspect --apple-order`.
extension ServerAPIClient {
    /// Look Up Order ID: returns the transactions of an order number, as Apple's mail to the customer has it. The
    /// answer is empty if Apple knows no such order of this app, and refused if the text does not look like an order
    /// number.
    public func lookUpOrder(_ order: String, _ context: StoreQueryContext) async
        -> StoreQueryAnswer<[NotifiedTransaction]>
    {
        await ask(.orderLookup(order, of: context.bundleID), context) { reader, body throws(StoreAnswerReader.Fault) in
            try reader.order(body)
        }
    }
}
