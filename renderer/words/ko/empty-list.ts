import type en from '../en/empty-list.ts'
import { type Translation } from '../message-types.ts'

export default {
  noneRunning: '실행 중인 세션이 없습니다',
  noneRunningText:
    '세션은 원하는 만큼의 CPU, 메모리, GPU를 갖춘 나만의 컨테이너입니다. 세션에서 Jupyter나 터미널을 열거나 SSH와 SFTP로 연결할 수 있습니다.',
  launchFirst: '첫 세션 시작하기',
  noneFinished: '아직 종료된 세션이 없습니다',
  noneFinishedText:
    '종료된 세션이 로그와 타임라인과 함께 여기에 표시됩니다. 세션을 다시 시작하거나 복사본을 시작할 수 있습니다.',
  noMatch: '일치하는 세션이 없습니다',
  noRunningMatch: '진행 중인 세션 {count, number}개 중 필터와 일치하는 세션이 없습니다.',
  noFinishedMatch: '종료된 세션 {count, number}개 중 필터와 일치하는 세션이 없습니다.',
  noLoadedRunningMatch: '불러온 진행 중인 세션 {count, number}개 중 필터와 일치하는 세션이 없습니다.',
  noLoadedFinishedMatch: '불러온 종료된 세션 {count, number}개 중 필터와 일치하는 세션이 없습니다.',
  noneWaiting: '대기 중인 세션이 없습니다',
  noneWaitingText: '호스트에 자리가 날 때까지 세션이 여기에서 기다립니다.',
  noneFailed: '실패한 세션이 없습니다',
  noneFailedText: '오류로 종료된 세션과 명령이 실패한 배치 작업이 여기에 표시됩니다.',
  clearFilter: '필터 지우기',
} satisfies Translation<typeof en>
