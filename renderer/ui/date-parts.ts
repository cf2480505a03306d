import { clockOf, dateFormat } from './format.ts'

/** Parts of a date, for charts and reports. A separate file, which the first page does not load. */

/** `Nov 27` */
export const formatDay = (date: Date): string => dateFormat({ day: 'numeric', month: 'short' }).format(date)

/** `9:05 AM`, `09:05` */
export const formatClock = (date: Date): string => dateFormat(clockOf()).format(date)

/** `November 2026` */
export const formatMonth = (date: Date): string => dateFormat({ month: 'long', year: 'numeric' }).format(date)
