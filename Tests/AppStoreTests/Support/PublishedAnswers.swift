/// Apple's answers that two developers published, byte for byte.
enum PublishedAnswers {
    /// An answer of 2017, with one consumable of a live-streaming app.
    static let live2017 = """
        {
          "status": 0,
          "environment": "Production",
          "receipt": {
            "download_id": 75017873837267,
            "adam_id": 1149703708,
            "request_date": "2017-01-13 06:57:20 Etc/GMT",
            "app_item_id": 1149703708,
            "original_purchase_date_pst": "2016-11-17 18:57:09 America/Los_Angeles",
            "version_external_identifier": 820252187,
            "receipt_creation_date": "2017-01-13 05:04:52 Etc/GMT",
            "in_app": [
              {
                "is_trial_period": "false",
                "purchase_date_pst": "2017-01-12 21:04:52 America/Los_Angeles",
                "original_purchase_date_pst": "2017-01-12 21:04:52 America/Los_Angeles",
                "product_id": "com.lucky917.live.gold.1.555",
                "original_transaction_id": "350000191094279",
                "original_purchase_date": "2017-01-13 05:04:52 Etc/GMT",
                "original_purchase_date_ms": "1484283892000",
                "purchase_date": "2017-01-13 05:04:52 Etc/GMT",
                "purchase_date_ms": "1484283892000",
                "transaction_id": "350000191094279",
                "quantity": "1"
              }
            ],
            "original_purchase_date_ms": "1479437829000",
            "original_application_version": "26",
            "original_purchase_date": "2016-11-18 02:57:09 Etc/GMT",
            "request_date_ms": "1484290640800",
            "bundle_id": "com.lucky917.ios.Live",
            "receipt_creation_date_pst": "2017-01-12 21:04:52 America/Los_Angeles",
            "application_version": "32",
            "request_date_pst": "2017-01-12 22:57:20 America/Los_Angeles",
            "receipt_creation_date_ms": "1484283892000",
            "receipt_type": "Production"
          }
        }
        """

    /// An answer of 2023, with two transactions of one product at the same millisecond.
    static let baloot2023 = """
        {
        "environment": "Production",
        "status": 0,
        "receipt": {
        "receipt_type": "Production",
        "adam_id": 13647829875,
        "app_item_id": 13647829875,
        "bundle_id": "test",
        "application_version": "70.0",
        "download_id": 501821354355307772,
        "version_external_identifier": 857715110,
        "receipt_creation_date": "2023-06-28 00:55:52 Etc/GMT",
        "receipt_creation_date_ms": "1687913752000",
        "receipt_creation_date_pst": "2023-06-27 17:55:52 America/Los_Angeles",
        "request_date": "2023-06-29 05:57:40 Etc/GMT",
        "request_date_ms": "1688018260446",
        "request_date_pst": "2023-06-28 22:57:40 America/Los_Angeles",
        "original_purchase_date": "2022-10-10 12:49:58 Etc/GMT",
        "original_purchase_date_ms": "1665406198000",
        "original_purchase_date_pst": "2022-10-10 05:49:58 America/Los_Angeles",
        "original_application_version": "49.0",
        "in_app": [
        {
        "quantity": "1",
        "product_id": "lllll.20.com",
        "transaction_id": "521111385457811",
        "original_transaction_id": "521111385457811",
        "purchase_date": "2023-06-28 00:55:52 Etc/GMT",
        "purchase_date_ms": "1687913752000",
        "purchase_date_pst": "2023-06-27 17:55:52 America/Los_Angeles",
        "original_purchase_date": "2023-06-28 00:55:52 Etc/GMT",
        "original_purchase_date_ms": "1687913752000",
        "original_purchase_date_pst": "2023-06-27 17:55:52 America/Los_Angeles",
        "is_trial_period": "false",
        "in_app_ownership_type": "PURCHASED"
        },
        {
        "quantity": "1",
        "product_id": "lllll.20.com",
        "transaction_id": "522222385457811",
        "original_transaction_id": "522222385457811",
        "purchase_date": "2023-06-28 00:55:52 Etc/GMT",
        "purchase_date_ms": "1687913752000",
        "purchase_date_pst": "2023-06-27 17:55:52 America/Los_Angeles",
        "original_purchase_date": "2023-06-28 00:55:52 Etc/GMT",
        "original_purchase_date_ms": "1687913752000",
        "original_purchase_date_pst": "2023-06-27 17:55:52 America/Los_Angeles",
        "is_trial_period": "false",
        "in_app_ownership_type": "PURCHASED"
        }
        ]
        }
        }
        """
}
