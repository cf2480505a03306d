import { type ColumnType, type Generated } from 'kysely'

/** Written as text: node-postgres turns a bare array into a PostgreSQL array, which jsonb refuses (22P02). */
export type Json<T> = ColumnType<T, string, string>
/** json with a default of the database. */
export type DefaultJson<T> = ColumnType<T, string | undefined, string>
/** Set by a default of the database when left out. */
export type Default<T> = Generated<T>
/** timestamptz; times of record are the database's `now()`. */
export type Time = ColumnType<Date, Date | string | undefined, Date | string>
export type MaybeTime = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
