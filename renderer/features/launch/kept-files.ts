/** Says before the launch what happens to a session's files after its end. */
export const KEPT_FILES =
  'When the session ends, its home folder is kept for about a day while there is room; other files are deleted. Copy out what you want to keep.'
