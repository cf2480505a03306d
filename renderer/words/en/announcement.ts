export default {
  info: 'Announcement',
  warning: 'Announcement',
  critical: 'Urgent announcement',
  until: 'until {time}',
  dismiss: 'Dismiss the announcement',
  read: 'Read',
} as const
