/// The report in a server's request to Send Consumption Information, version 2.
public struct ConsumptionInformation: Sendable, Hashable, Codable {
    public let customerConsented: Bool
    public let deliveryStatus: String
    public let sampleContentProvided: Bool
    public let consumptionPercentage: Int?
    public let refundPreference: String?
}
