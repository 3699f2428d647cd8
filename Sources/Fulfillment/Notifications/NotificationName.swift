import Encodings

/// The name by which receiptd remembers a notification of Apple's history before it is verified. It is the UUID,
/// because Apple signs it again for each question; without a UUID, it is the digest of its bytes.
public enum NotificationName {
    public static func digest(of body: [UInt8]) -> Digest256 {
        guard let payload = payload(of: body), let document = try? JSONParser.parse(payload),
            let id = document.value["notificationUUID"]?.string
        else { return Digest256(hashing: body) }
        return Digest256(hashing: Array(id.utf8))
    }

    /// Returns the decoded payload of its JWS, whose signature nobody has checked; nil if there is none.
    public static func payload(of body: [UInt8]) -> [UInt8]? {
        guard let document = try? JSONParser.parse(body), let jws = document.value["signedPayload"]?.string else {
            return nil
        }
        let segments = jws.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return segments.count == 3 ? Base64.decode(segments[1]) : nil
    }
}
