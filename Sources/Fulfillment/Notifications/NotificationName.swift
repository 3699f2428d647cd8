import Encodings

/// The name by which receiptd remembers a notification of Apple's history before its signature is checked. The name
/// is the UUID's digest, because Apple signs the notification anew for each question. Without a UUID, it is the body's
/// digest.
public enum NotificationName {
    public static func digest(of body: [UInt8]) -> Digest256 {
        guard let payload = payload(of: body), let document = try? JSONParser.parse(payload),
            let id = document.value["notificationUUID"]?.string
        else { return Digest256(hashing: body) }
        return Digest256(hashing: Array(id.utf8))
    }

    /// Returns the decoded payload of the body's JWS, without a check of the signature; nil if the body has no JWS.
    public static func payload(of body: [UInt8]) -> [UInt8]? {
        guard let document = try? JSONParser.parse(body), let jws = document.value["signedPayload"]?.string else {
            return nil
        }
        let segments = jws.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return segments.count == 3 ? Base64.decode(segments[1]) : nil
    }
}
