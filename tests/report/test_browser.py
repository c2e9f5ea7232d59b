"""The report in a browser: it opens without an error, its tables sort, filter and search, and names are text."""

import shutil

import pytest

import bayesanno as ba

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"),
]

EVIL = "<img src=x onerror=alert(1)>"
CLOSING = "</script><script>alert(2)</script>"
LABEL = "<b onmouseover=alert(3)>yes</b>"


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of sixty items, some of them with names that would do harm if they were read as HTML."""
    records, gold = [], {}
    for number in range(60):
        item = {7: EVIL, 8: CLOSING}.get(number, f"s{number:02d}")
        truth = LABEL if number % 3 else "no"
        gold[item] = truth
        for place, who in enumerate(("ada", EVIL, "cy")):
            wrong = number % 7 == place
            records.append((item, who, ("no" if truth == LABEL else LABEL) if wrong else truth))
    data = ba.AnnotationData.from_records(records, gold=gold)
    fit = ba.fit("one_coin", data, method="vb", random_seed=1, progressbar=False)
    return ba.write_report(fit, tmp_path_factory.mktemp("report") / "report.html", checks=False)


@pytest.fixture
def opened(browser, page):
    browser.get(page.as_uri())
    return browser


def rows(driver, table="item-table"):
    return driver.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]"
        ".map(row => [...row.cells].map(cell => cell.textContent))",
        table,
    )


def column(driver, name, table="item-table"):
    heads = driver.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} th button`)].map(one => one.textContent)", table
    )
    return heads.index(name)


def sort_by(driver, name, table="item-table"):
    from selenium.webdriver.common.by import By

    driver.find_elements(By.CSS_SELECTOR, f"#{table} th button")[column(driver, name, table)].click()


def test_the_page_opens_without_an_error_and_asks_the_network_for_nothing(opened):
    assert [entry for entry in opened.get_log("browser") if entry["level"] != "INFO"] == []
    assert opened.execute_script("return performance.getEntriesByType('resource').map(one => one.name)") == []
    assert opened.execute_script("return [...document.images].every(one => one.complete && one.naturalWidth > 0)")
    assert opened.execute_script("return [...document.images].every(one => one.alt)")
    targets = opened.execute_script(
        "return [...document.querySelectorAll('nav a')].map(one => !!document.querySelector(one.getAttribute('href')))"
    )
    assert len(targets) > 3
    assert all(targets)


def test_names_from_data_are_text(opened):
    from selenium.common.exceptions import NoAlertPresentException
    from selenium.webdriver.common.by import By

    assert opened.execute_script("return document.querySelectorAll('img[onerror], [onmouseover]').length") == 0
    search = opened.find_element(By.CSS_SELECTOR, "#item-table input")
    search.send_keys("onerror")
    assert [row[0] for row in rows(opened)] == [EVIL]
    search.clear()
    search.send_keys("</script>")
    assert [row[0] for row in rows(opened)] == [CLOSING]
    assert LABEL in {row[1] for row in rows(opened)}
    assert EVIL in {row[0] for row in rows(opened, "annotator-table")}
    with pytest.raises(NoAlertPresentException):
        opened.switch_to.alert.text  # noqa: B018


def test_the_most_uncertain_items_come_first_and_other_columns_sort(opened):
    entropy = [float(row[column(opened, "entropy")]) for row in rows(opened)]
    assert len(entropy) == 25  # a page of sixty
    assert entropy == sorted(entropy, reverse=True)
    sort_by(opened, "item")
    names = [row[0] for row in rows(opened)]
    assert names == sorted(names)
    assert names[0] == CLOSING
    sort_by(opened, "probability")
    shown = [float(row[column(opened, "probability")]) for row in rows(opened)]
    assert shown == sorted(shown, reverse=True)


def test_rows_are_filtered_searched_and_turned(opened):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    where = opened.find_element(By.CSS_SELECTOR, "#item-table .pages span")
    assert where.text == "1–25 of 60 items"
    seen = [row[0] for row in rows(opened)]
    for _ in range(2):
        opened.find_elements(By.CSS_SELECTOR, "#item-table .pages button")[1].click()
        seen += [row[0] for row in rows(opened)]
    assert where.text == "51–60 of 60 items"
    assert len(set(seen)) == 60
    Select(opened.find_element(By.CSS_SELECTOR, "#item-table select[aria-label=label]")).select_by_visible_text("no")
    assert {row[column(opened, "label")] for row in rows(opened)} == {"no"}
    opened.find_element(By.CSS_SELECTOR, "#item-table input").send_keys("nothing is called that")
    assert rows(opened) == []
    assert where.text == "0 items (of 60)"
