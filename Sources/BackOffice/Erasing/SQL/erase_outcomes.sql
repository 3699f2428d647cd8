-- Replaces the player in outcomes, and deletes Apple's stored answers to the player's proofs.
-- $1 pseudonym; $2–$6 the outcomes' key, sorted; $7 their answers, or null; $8 proofs, sorted
WITH erased AS (
    UPDATE outcomes
    SET player_id = $1, submission_id = $1, submission_key = gen_random_uuid(),
        proof = sha256(gen_random_uuid()::text::bytea), answer = changed.answer, story = NULL
    FROM unnest($2::date[], $3::int4[], $4::int8[], $5::text[], $6::bytea[], $7::bytea[])
        AS changed (day, source_partition, source_offset, source_topic, content, answer)
    WHERE outcomes.day = changed.day AND outcomes.source_partition = changed.source_partition
        AND outcomes.source_offset = changed.source_offset AND outcomes.source_topic = changed.source_topic
        AND outcomes.content = changed.content
)
DELETE FROM proofs WHERE proof = ANY ($8::bytea[]);
