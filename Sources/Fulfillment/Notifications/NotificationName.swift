import Encodings

/// The name of a notification in Apple's notification history, for use before receiptd has checked the signature. The
/// name is the digest of the notification's UUID, because Apple signs the notification anew for each request. If there
/// is no UUID, the name is the digest of the body.
public enum NotificationName {
    public static func digest(of body: [UInt8]) -> Digest256 {
        guard let payload = payload(of: body), let document = try? JSONParser.parse(payload),
            let id = document.value["notificationUUID"]?.string
        else { return Digest256(hashing: body) }
        return Digest256(hashing: Array(id.utf8))
    }

    /// Returns the decoded payload of the body's JWS; nil if the body has no JWS. Does not check the signature.
    public static func payload(of body: [UInt8]) -> [UInt8]? {
        guard let document = try? JSONParser.parse(body), let jws = document.value["signedPayload"]?.string else {
            return nil
        }
        let segments = jws.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return segments.count == 3 ? Base64.decode(segments[1]) : nil
    }
}
