import { type ColumnType, type Generated } from 'kysely'

/** jsonb, written as text: node-postgres turns a bare array into a PostgreSQL array, which jsonb refuses (22P02). */
export type Json<T> = ColumnType<T, string, string>
/** jsonb with a default in the database. */
export type DefaultJson<T> = ColumnType<T, string | undefined, string>
/** jsonb that may be null. */
export type MaybeJson<T> = ColumnType<T | null, string | null | undefined, string | null>
/** Column that the database sets when it is left out. */
export type Default<T> = Generated<T>
/** timestamptz. Times of record are the database's `now()`. */
export type Time = ColumnType<Date, Date | string | undefined, Date | string>
export type MaybeTime = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
