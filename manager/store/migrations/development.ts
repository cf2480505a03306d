/** The last migration before all of them became `0001-schema`, which makes the same tables. */
export const LAST_OF_DEVELOPMENT = '0095-app-ports'
const FIRST_OF_DEVELOPMENT = '0001-foundation'

/** Whether these migrations made the tables of `0001-schema`, before 0.1.0. @param names in order */
export const isLastOfDevelopment = (names: readonly string[]): boolean =>
  names[0] === FIRST_OF_DEVELOPMENT && names.at(-1) === LAST_OF_DEVELOPMENT

/** Whether the tables are older than those of `0001-schema`: nothing leads from them to the tables of today. */
export const isOlderDevelopment = (names: readonly string[]): boolean =>
  names[0] === FIRST_OF_DEVELOPMENT && !isLastOfDevelopment(names)
