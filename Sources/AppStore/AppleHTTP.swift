import Fulfillment
import PooledHTTP

extension HTTPClient {
    static let userAgent = "receiptd"

    /// Makes a client for Apple, without HTTP/2. An HTTP/2 connection would limit the requests in flight to about a
    /// hundred, and would cost more for client and server.
    /// - Parameter endpoints: the endpoints to which the client will send requests.
    convenience init(_ settings: AppleSettings, to endpoints: [HTTPEndpoint]) throws(AppleSettingsFault) {
        guard settings.timeoutSeconds > 0, settings.timeoutSeconds.isFinite else {
            throw .notPositive(setting: "APPLE_TIMEOUT_SECONDS")
        }
        guard settings.maxConcurrency > 0 else { throw .notPositive(setting: "APPLE_MAX_CONCURRENCY") }
        let usesTLS = endpoints.contains(where: \.origin.isSecure)
        do throws(NoCertificates) {
            try self.init(
                Settings(timeoutSeconds: settings.timeoutSeconds, caFile: settings.caFile, usesTLS: usesTLS))
        } catch {
            throw .noCertificates(path: error.path ?? "the system's roots")
        }
    }
}

extension AppleSettings {
    /// Returns true if TLS can use the PEM certificates of the file at `path`.
    public static func holdsCertificates(caFile path: String) -> Bool { HTTPClient.holdsCertificates(path) }
}

extension HTTPFailure {
    var troubleKind: AppleAnswer.TroubleKind {
        switch self {
        case .timeout: .timeout
        case .connection: .connection
        case .tooLong: .incomplete
        }
    }

    /// The reason why the server did not answer; nil if it answered.
    var noAnswer: String? {
        switch self {
        case .timeout: "no answer in time"
        case .connection(let cause): cause.description
        case .tooLong: nil
        }
    }
}

extension Result<HTTPResponse, HTTPFailure> {
    /// The reason why there is no usable response; nil if the response is usable.
    var noAnswer: String? {
        switch self {
        case .failure(let failure): failure.noAnswer
        case .success(let response): response.status >= 500 ? "HTTP status \(response.status)" : nil
        }
    }
}
