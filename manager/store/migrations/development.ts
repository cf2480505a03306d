/** The last migration before all were merged into `0001-tables`, which creates the same tables. */
export const LAST_OF_DEVELOPMENT = '0013-ports-others-reach'
/** First migrations of databases from before 0.1.0. */
const FIRST_OF_DEVELOPMENT: readonly string[] = ['0001-foundation', '0001-schema']

const isOfDevelopment = ([first]: readonly string[]): boolean =>
  first !== undefined && FIRST_OF_DEVELOPMENT.includes(first)

/** Whether these migrations created the tables of `0001-tables`, before 0.1.0. @param names in order */
export const isLastOfDevelopment = (names: readonly string[]): boolean =>
  isOfDevelopment(names) && names.at(-1) === LAST_OF_DEVELOPMENT

/** Whether the tables are older than those of `0001-tables`: these cannot be migrated. */
export const isOlderDevelopment = (names: readonly string[]): boolean =>
  isOfDevelopment(names) && !isLastOfDevelopment(names)
