import NIOCore
import NIOPosix
import NIOSSL

/// A listener on this machine that makes the TLS handshake, and sends no byte of Kafka's protocol.
struct TLSListener {
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel

    static func start(certificate: String) async throws -> TLSListener {
        let chain = try NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(chain)], privateKey: .privateKey(key)))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try channel.pipeline.syncOperations.addHandler(Closing())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TLSListener(group: group, listener: listener)
    }

    /// The address with the name `localhost`, for which the certificates are valid.
    var address: String { "localhost:\(listener.localAddress?.port ?? 0)" }

    func shutdown() async throws {
        try await listener.close()
        try await group.shutdownGracefully()
    }

    private final class Closing: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// A self-signed certificate for `localhost` that is valid for a century. Only these tests trust the certificate.
    static let validPEM = """
        -----BEGIN CERTIFICATE-----
        MIIBVDCB+6ADAgECAhRBTPBCtyH1Zz+aiGXoJ8WpqtnHLTAKBggqhkjOPQQDAjAU
        MRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjYwMTAxMDAwMDAwWhgPMjEyNjAxMDEw
        MDAwMDBaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49
        AwEHA0IABAPOiRzhydUkA2WPxqMt/y+RHZpETyleZNF+vo3VqAPE94c11NTRnzrN
        8Bdeg33FZT7/Pek14H1TNHmCdjQBvjmjKTAnMA8GA1UdEwEB/wQFMAMBAf8wFAYD
        VR0RBA0wC4IJbG9jYWxob3N0MAoGCCqGSM49BAMCA0gAMEUCIFOaAiYL99xs+orq
        hRfXzjlp+2P4EQ6jHCDUuuXdiCF0AiEAw4KGNl18EH1iRDUeDcK5B2OgamqRSzKJ
        U4dRJUG2k9Q=
        -----END CERTIFICATE-----
        """

    /// A self-signed certificate for `localhost` that was valid in January 2020.
    static let expiredPEM = """
        -----BEGIN CERTIFICATE-----
        MIIBUzCB+aADAgECAhQ2v2G64Mjvl4HYq+yPoJnyeY89+jAKBggqhkjOPQQDAjAU
        MRIwEAYDVQQDDAlsb2NhbGhvc3QwHhcNMjAwMTAxMDAwMDAwWhcNMjAwMjAxMDAw
        MDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMB
        BwNCAAQDzokc4cnVJANlj8ajLf8vkR2aRE8pXmTRfr6N1agDxPeHNdTU0Z86zfAX
        XoN9xWU+/z3pNeB9UzR5gnY0Ab45oykwJzAPBgNVHRMBAf8EBTADAQH/MBQGA1Ud
        EQQNMAuCCWxvY2FsaG9zdDAKBggqhkjOPQQDAgNJADBGAiEAjLIhUEgjbIfn55lg
        BF+e5QLBReckarJF0gnq7YBWUuwCIQDxcLt6b2zqZEmU9fIpdrn7Csf850cuKAeV
        Aa1Ecr9Kfg==
        -----END CERTIFICATE-----
        """

    private static let keyPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJ8RSXLayjqvXyWFS
        W6TM7evafkUfpx5V+6nQPMw+TgWhRANCAAQDzokc4cnVJANlj8ajLf8vkR2aRE8p
        XmTRfr6N1agDxPeHNdTU0Z86zfAXXoN9xWU+/z3pNeB9UzR5gnY0Ab45
        -----END PRIVATE KEY-----
        """
}
