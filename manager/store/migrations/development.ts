/** The last migration before all were merged into `0001-initial`, which creates the same tables. */
export const LAST_OF_DEVELOPMENT = '0014-audited-tokens'
/** First migrations of databases from before 0.1.0. No later version may name its first migration so. */
const FIRST_OF_DEVELOPMENT: readonly string[] = ['0001-foundation', '0001-schema', '0001-tables']

const isOfDevelopment = ([first]: readonly string[]): boolean =>
  first !== undefined && FIRST_OF_DEVELOPMENT.includes(first)

/** Whether these migrations created the tables of `0001-initial`, before 0.1.0. @param names in order */
export const isLastOfDevelopment = (names: readonly string[]): boolean =>
  isOfDevelopment(names) && names.at(-1) === LAST_OF_DEVELOPMENT

/** Whether the tables come from another version before 0.1.0: these cannot be migrated. @param names in order */
export const isOtherDevelopment = (names: readonly string[]): boolean =>
  isOfDevelopment(names) && !isLastOfDevelopment(names)
